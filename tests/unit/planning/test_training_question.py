"""Questions from JSON fields."""

from service.core.numerics import Dtype
from service.planning.training_question import Overlap, TrainingQuestion


def test_fields_become_what_they_mean():
    question = TrainingQuestion.of(
        {
            "model": "llama3-8b", "system": "dgx-h100", "gpus": 8, "gradient_reduce_dtype": "bf16",
            "overlap": {"tensor_parallel": True}, "pipeline_layers": [16, 16],
        }
    )  # fmt: skip
    assert question.gradient_reduce_dtype is Dtype.BF16
    assert question.overlap == Overlap(tensor_parallel=True)
    assert question.pipeline_layers == (16, 16)
