"""Klenk et al., ISCA 2020: in-network reduction sends S (1 + 1/n) where a ring sends 2 S (n-1)/n."""

import pytest

from service.core.collectives.bandwidth import busbw_factor
from service.core.collectives.cost import Collective
from service.core.collectives.in_network import nvls_bytes_on_wire


@pytest.mark.parametrize(("num_ranks", "gain"), [(2, 2 / 3), (4, 1.2), (8, 1.5556), (16, 1.7647)])
def test_gain_over_the_ring(num_ranks, gain):
    """2 (n-1)/n over (1 + 1/n) is 2 (n-1)/(n+1): 2/3, 6/5, 14/9, 30/17. So two GPUs lose and eight gain 56 %."""
    ring_bytes = busbw_factor(Collective.ALL_REDUCE, num_ranks) * 1e9
    assert ring_bytes / nvls_bytes_on_wire(num_ranks, 1e9) == pytest.approx(gain, rel=1e-4)
