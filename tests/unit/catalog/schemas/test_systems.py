"""Systems: what they name, and what they leave to their accelerator."""

from service.catalog.schemas.systems import SystemSchema
from tests.unit.catalog.documents_of import CARD


def test_an_accelerator_may_be_an_object():
    assert SystemSchema().validate({"accelerator": CARD, "gpus_per_node": 8}) == {}


def test_a_network_between_nodes_is_named():
    assert SystemSchema().validate({"scale_out": {"nics_per_gpu": 1}}) == {
        "scale_out": {"network": ["Missing data for required field."]}
    }


def test_topologies_are_a_closed_list():
    assert set(SystemSchema().validate({"scale_up": {"topology": "ring"}})["scale_up"]) == {"topology"}
