"""The file of the experts' kernels, read."""

import pytest

from service.catalog.catalog import load_shipped_catalog
from service.catalog.expert_exchange import FILE, load_exchange_calibrations, token_bytes
from service.errors import CatalogDefect


def test_a_token_on_the_wire_has_its_scales():
    """7168 elements: 14,336 B in bf16; in fp8 7168 and 56 scales of 4 B; in nvfp4 3584 and 448 scales of 1 B."""
    assert token_bytes("dispatch", 7168, "bf16") == 14336
    assert token_bytes("dispatch", 7168, "fp8") == 7168 + 56 * 4
    assert token_bytes("dispatch", 7168, "nvfp4") == 3584 + 448
    assert token_bytes("prepare", 7168, "bf16") == 4


def test_a_board_has_its_own_and_a_generation_the_measured_ones():
    catalog = load_shipped_catalog()
    own = catalog.experts.of(catalog.system("gb200-nvl72"))
    assert {c.kernel for c in own} >= {"nvlink_one_sided", "nvlink_two_sided"}
    assert "nvlink_one_sided" not in {c.kernel for c in catalog.experts.of(catalog.system("dgx-b200"))}
    assert catalog.experts.of(catalog.system("dgx-a100")) == ()


@pytest.mark.parametrize("text", ["boards: 3", "boards: [{accelerators: [], architectures: [], kernels: [{}]}]"])
def test_what_does_not_hold_together_is_named(text, tmp_path):
    (tmp_path / FILE).write_text(text, encoding="utf-8")
    with pytest.raises(CatalogDefect, match=FILE):
        load_exchange_calibrations(tmp_path)
