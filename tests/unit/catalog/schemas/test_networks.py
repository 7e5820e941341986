"""Networks: each rate says whose and which way."""

from service.catalog.schemas.networks import NetworkSchema


def test_a_network_says_what_it_is():
    assert set(NetworkSchema().validate({})) == {"kind"}
    assert set(NetworkSchema().validate({"kind": "string and cans"})) == {"kind"}


def test_every_rate_names_its_scope_or_direction():
    told_apart = (
        "per_direction",
        "bidirectional",
        "headline",
        "signalling",
        "reduction",
        "bisection",
        "all_to_all",
        "capacity",
    )
    rates = [name for name in NetworkSchema().fields if name.endswith("_bytes_per_second")]
    assert rates
    assert all(any(word in name for word in told_apart) for name in rates)
