"""NVIDIA/nccl-tests, doc/PERFORMANCE.md: the worked factors of bus bandwidth, replayed."""

import pytest

from service.core.collectives.bandwidth import busbw_factor
from service.core.collectives.cost import Collective


@pytest.mark.parametrize(
    ("collective", "factor"),
    [
        (Collective.ALL_REDUCE, lambda n: 2 * (n - 1) / n),
        (Collective.REDUCE_SCATTER, lambda n: (n - 1) / n),
        (Collective.ALL_GATHER, lambda n: (n - 1) / n),
        (Collective.BROADCAST, lambda n: 1),
        (Collective.REDUCE, lambda n: 1),
    ],
)
@pytest.mark.parametrize("num_ranks", [2, 3, 8, 64, 1024])
def test_factor(collective, factor, num_ranks):
    """The page derives each factor for n ranks on links of equal rate B."""
    assert busbw_factor(collective, num_ranks) == pytest.approx(factor(num_ranks))
