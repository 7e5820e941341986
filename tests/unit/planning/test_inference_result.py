"""The breakdown under the API's names."""

from service.core.inference.step import StepParts
from service.planning.inference_result import StepBreakdown


def test_the_parts_keep_their_sum():
    found = StepBreakdown.of(StepParts(1, 2, 3, 4, 5, 6, 7, 8, 9))
    assert found.seconds == 45
    assert (found.matrices_seconds, found.experts_seconds, found.host_seconds) == (1, 2, 9)
    assert StepBreakdown.of(StepParts(1, 2, 3, 4, 5, 6, 7, 8, 9), 2).seconds == 90
