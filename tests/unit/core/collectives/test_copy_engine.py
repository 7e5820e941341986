"""DMA copies, by hand on round constants."""

import pytest

from service.core.collectives.copy_engine import copy_engine
from service.core.collectives.cost import Collective, Protocol
from tests.collective_paths import within


@pytest.mark.parametrize("collective", [Collective.ALL_GATHER, Collective.ALL_TO_ALL])
def test_two_barriers_and_the_bytes(collective):
    """3.52 GB on 8: 3.08 GB at 0.88 × 400 GB/s is 8.75 ms; two launches of 8 us."""
    cost = copy_engine(collective, Protocol.SIMPLE, 8, 3.52e9, within(8))
    assert cost.seconds == pytest.approx(8.766e-3)
    assert cost.bytes_on_wire_per_gpu == pytest.approx(3.08e9)


def test_one_rank_is_free():
    assert copy_engine(Collective.ALL_GATHER, Protocol.SIMPLE, 1, 1e9, within(1)).seconds == 0.0
