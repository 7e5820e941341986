"""Schemathesis reads the published document and tries to catch the service breaking it. Same examples every time."""

from __future__ import annotations

import re
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    missing_required_header,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from service.app import create_app
from service.http.api import OPERATIONS
from service.http.operations import Operation
from service.persistence import migrations
from service.persistence.database import open_database
from service.settings import Settings

# Not positive_data_acceptance: a question may be well-formed and still make no sense, which is a documented 422.
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
    unsupported_method,
    missing_required_header,
]


@pytest.fixture(name="published", scope="module")
def _published(tmp_path_factory: pytest.TempPathFactory) -> Any:
    url = f"sqlite:///{tmp_path_factory.mktemp('schemathesis') / 'stepcast.db'}"
    database = open_database(url)
    migrations.upgrade(database.engine)
    database.close()
    app = create_app(Settings.from_environ({"STEPCAST_DATABASE_URL": url, "STEPCAST_SQLITE_SYNCHRONOUS": "NORMAL"}))
    return schemathesis.openapi.from_wsgi("/openapi.json", app)


VALID = [(operation, GenerationMode.POSITIVE) for operation in OPERATIONS]
INVALID = [
    (operation, GenerationMode.NEGATIVE)
    for operation in OPERATIONS
    if operation.parameters or operation.query or operation.body  # the others take nothing that could be wrong
]


@pytest.mark.parametrize(
    ("operation", "mode"), [pytest.param(*row, id=f"{row[0].name}-{row[1].value}") for row in VALID + INVALID]
)
def test_the_service_does_as_it_says(published: Any, operation: Operation, mode: GenerationMode) -> None:
    shown = published[re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", operation.path)][operation.method]

    @settings(max_examples=50, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(case=shown.as_strategy(generation_mode=mode))
    def hold(case: schemathesis.Case) -> None:
        case.call_and_validate(checks=CHECKS)

    hold()
