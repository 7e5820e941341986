"""tests/unit mirrors service file for file; what is tested from outside says where."""

from __future__ import annotations

import pytest

from tests.architecture.sources import ROOT, defines_functions, modules

# No unit test of its own, because ... and the file that tests it instead.
TESTED_FROM_OUTSIDE = {
    # composition: only a whole service shows that the parts fit
    "service/app.py": "tests/contract/test_server.py",
    "service/cli/__init__.py": "tests/unit/cli/test_commands.py",
    "service/cli/catalog.py": "tests/unit/cli/test_commands.py",
    "service/cli/database.py": "tests/unit/cli/test_commands.py",
    "service/cli/environment.py": "tests/unit/cli/test_commands.py",
    "service/cli/serve.py": "tests/unit/cli/test_commands.py",
    "service/cli/server.py": "tests/contract/test_server.py",
    "service/cli/tokens.py": "tests/unit/cli/test_commands.py",
    # a fake database would show nothing: each runs on SQLite and on Postgres
    "service/persistence/catalog_source.py": "tests/integration/test_catalog_store.py",
    "service/persistence/catalog_store.py": "tests/integration/test_catalog_store.py",
    "service/persistence/migrations.py": "tests/integration/test_migrations.py",
    "service/persistence/scenario_store.py": "tests/integration/test_scenario_store.py",
    "service/persistence/tables.py": "tests/integration/test_migrations.py",
    "service/persistence/token_store.py": "tests/integration/test_catalog_store.py",
    # endpoints and what wraps them: seen through requests, held against the OpenAPI document
    "service/http/api.py": "tests/contract/test_route_table.py",
    "service/http/auth.py": "tests/contract/test_access.py",
    "service/http/estimates.py": "tests/contract/test_collective_estimates.py",
    "service/http/health.py": "tests/contract/test_service_pages.py",
    "service/http/metrics.py": "tests/contract/test_service_pages.py",
    "service/http/openapi.py": "tests/contract/test_openapi.py",
    "service/http/operations.py": "tests/contract/test_openapi.py",
    "service/http/pages.py": "tests/contract/test_service_pages.py",
    "service/http/paging.py": "tests/contract/test_scenarios.py",
    "service/http/problems.py": "tests/contract/test_bad_inputs.py",
    "service/http/refusals.py": "tests/contract/test_bad_inputs.py",
    "service/http/v1/catalog_entries.py": "tests/contract/test_catalog_entries.py",
    "service/http/v1/collective_estimates.py": "tests/contract/test_collective_estimates.py",
    "service/http/v1/inference_estimates.py": "tests/contract/test_inference_estimates.py",
    "service/http/v1/scenario_fields.py": "tests/contract/test_scenarios.py",
    "service/http/v1/scenarios.py": "tests/contract/test_scenarios.py",
    # words without behaviour: protocols, or exceptions that only carry what they are given
    "service/errors.py": "tests/contract/test_bad_inputs.py",
    "service/planning/scenarios.py": "tests/integration/test_scenario_store.py",
    "service/planning/stores.py": "tests/integration/test_catalog_store.py",
}


def unit_test_of(path: str) -> str:
    folder, _, name = path.removeprefix("service/").rpartition("/")
    return "/".join(filter(None, ("tests/unit", folder, f"test_{name}")))


@pytest.mark.parametrize("path", [path for path, module in modules().items() if defines_functions(module)])
def test_has_its_unit_test(path: str) -> None:
    expected = TESTED_FROM_OUTSIDE.get(path) or unit_test_of(path)
    assert (ROOT / expected).is_file(), f"{expected} is missing"


def test_exceptions_are_needed() -> None:
    assert [path for path in TESTED_FROM_OUTSIDE if path not in modules()] == []
    assert [path for path in TESTED_FROM_OUTSIDE if (ROOT / unit_test_of(path)).is_file()] == []
