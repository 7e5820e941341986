"""What is hidden, by hand."""

import pytest

from service.core.training.block import LayerSeconds
from service.core.training.exposure import (
    TensorMessages,
    bucketed_exposed_seconds,
    context_exposed_seconds,
    exposed_seconds,
    gathered_layers_exposed_seconds,
    tensor_exposed_seconds,
)

LAYER = LayerSeconds(10.0, 20.0, 2.0, 4.0, 6.0, 2.0, 8.0, 8.0)


def exposed(messages, *, overlapped=False, hides=True):
    return tensor_exposed_seconds(messages, LAYER, overlapped=overlapped, hides_gradients=hides, slowdown_ratio=0.0)


def test_what_does_not_fit_behind_is_exposed():
    """5 - 3, and a tenth of the 3 that are hidden."""
    assert exposed_seconds(5, 3, 0.1) == pytest.approx(2.3)
    assert exposed_seconds(2, 3, 0.0) == 0


def test_the_four_all_reduces_of_a_block():
    """Two forward in the open; two backward behind 4 s of weight gradient each: 5 - 4 = 1."""
    assert exposed(TensorMessages(all_reduce=5.0)) == (10.0, 2.0)
    assert exposed(TensorMessages(all_reduce=5.0), hides=False) == (10.0, 10.0)


def test_sequence_parallelism():
    """Forward 2 (1 + 1); backward the two row-parallel gathers; the rest fits behind 4 s."""
    messages = TensorMessages(gather=1.0, scatter=1.0)
    assert exposed(messages) == (4.0, 2.0)
    assert exposed(messages, overlapped=True) == (1.0, 0.5)
    assert exposed(messages, hides=False) == (4.0, 4.0)


def test_nothing_to_send():
    assert exposed(TensorMessages()) == (0.0, 0.0)


def test_a_ring_hides_behind_attention():
    """3 - 2 forward; 6 - 4 backward; an all-gather does not hide."""
    ring = context_exposed_seconds(3.0, LAYER, hidden=True, backward_exchanges=2.0, slowdown_ratio=0.0)
    assert ring == (1.0, 2.0)
    open_ = context_exposed_seconds(3.0, LAYER, hidden=False, backward_exchanges=1.0, slowdown_ratio=0.0)
    assert open_ == (3.0, 3.0)


def test_gathered_layers():
    """First gather 2, last scatter 3; three times max(0, 2 - 1) and max(0, 2 + 3 - 4): 5 + 3 × 2 = 11."""
    found = gathered_layers_exposed_seconds(
        2.0, 3.0, 1.0, 4.0, 4, slowdown_ratio=0.0, keeps_gathered=False, scatters=True
    )
    assert found == 11.0


def test_the_last_bucket_stays():
    assert bucketed_exposed_seconds(10.0, 1.0, 20.0, 0.0) == 1.0
    assert bucketed_exposed_seconds(10.0, 1.0, 4.0, 0.0) == 6.0
