"""The working of a serving estimate: its lines, in order, with figures of the answer."""

from service.catalog.catalog import load_shipped_catalog
from service.core.inference.weights import WeightDtype
from service.planning.inference import estimate_inference
from service.planning.inference_question import InferenceQuestion


def lines(**fields):
    whole = {"model": "llama3.1-70b", "system": "dgx-h100", "tensor_parallel_size": 2, "weight_dtype": WeightDtype.FP8}
    answer = estimate_inference(InferenceQuestion(**whole | fields), load_shipped_catalog())
    return answer, {line.symbol: line for line in answer.derivation}


def test_memory_then_roofline_then_the_step():
    answer, found = lines(batch_size=8)
    order = list(found)
    assert order.index("W") < order.index("B_max") < order.index("t_ideal") < order.index("d") < order.index("tokens")
    assert found["tokens"].value == answer.result.output_tokens_per_second
    assert found["TPOT"].value == answer.result.tpot_seconds
    assert found["b"].value == 163840


def test_every_line_has_its_source():
    _, found = lines(batch_size=8)
    assert all(line.source for line in found.values())


def test_what_is_missing_is_told():
    answer, found = lines(tensor_parallel_size=1, weight_dtype=WeightDtype.BF16)
    assert found["short"].value == answer.result.shortfall_bytes
