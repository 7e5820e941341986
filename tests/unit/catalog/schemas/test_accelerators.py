"""Accelerators: dense peaks by number format, and links told apart by direction."""

from service.catalog.schemas.accelerators import AcceleratorSchema
from tests.unit.catalog.documents_of import CARD


def test_a_sparse_peak_has_no_key():
    errors = AcceleratorSchema().validate({**CARD, "dense_peaks_flops_per_second": {"bf16_sparse": 2e15}})
    assert set(errors) == {"dense_peaks_flops_per_second"}


def test_a_bare_bandwidth_has_no_key():
    scale_up = {"network": "nvlink4", "bandwidth_bytes_per_second": 450e9}
    assert set(AcceleratorSchema().validate({**CARD, "scale_up": scale_up})["scale_up"]) == {
        "bandwidth_bytes_per_second"
    }


def test_what_no_estimate_can_do_without():
    assert set(AcceleratorSchema().validate({})) == set(CARD)


def test_a_price_has_terms_and_a_date():
    errors = AcceleratorSchema().validate({**CARD, "prices": [{"price_usd_per_hour": 2.0, "per": "gpu"}]})
    assert set(errors["prices"][0]) == {"terms", "dated"}
