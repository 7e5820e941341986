"""A step from its parts, by hand; the same on columns."""

import numpy as np
import pytest

from service.core.training.step_time import MicroBatchSeconds, step_seconds, straggler_ratio


def test_parts_sum_to_the_step():
    """4 × (1 + 2) of work, (9 - 3) / 1 of bubble, 0.5 + 0.25 + 0.125 once, 0.1 × (12 + 6 + 0.5) for stragglers."""
    step = step_seconds(
        MicroBatchSeconds(1.0, 2.0), 9.0, 4, 1, data_parallel=0.5, optimizer=0.25, other=0.125, straggler_ratio=0.1
    )
    assert step.total == pytest.approx(12 + 6 + 0.5 + 0.25 + 0.125 + 1.85)
    assert sum(step.parts().values()) == pytest.approx(step.total)
    assert (step.pipeline_bubble, step.forward_compute, step.backward_compute) == (6.0, 4.0, 8.0)


def test_columns_give_what_floats_give():
    forward, micro = np.array([1.0, 2.0]), np.array([4.0, 8.0])
    column = step_seconds(MicroBatchSeconds(forward, 2.0), 9.0, micro, 1, optimizer=0.25)
    single = [
        step_seconds(MicroBatchSeconds(f, 2.0), 9.0, m, 1, optimizer=0.25).total
        for f, m in zip(forward, micro, strict=True)
    ]
    assert column.total.tolist() == single


def test_adding_layers():
    assert MicroBatchSeconds(1.0).plus(MicroBatchSeconds(2.0, 3.0), 2).total == 1 + 2 * 5


def test_stragglers_start_where_they_start():
    assert straggler_ratio(256, 0.004, 256) == 0
    assert straggler_ratio(1024, 0.004, 256) == pytest.approx(0.008)
