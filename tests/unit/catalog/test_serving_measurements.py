"""The published serving rows, read."""

from service.catalog.serving_measurements import serving_points


def test_rows_to_validate_are_apart_from_those_to_fit():
    points = serving_points()
    assert sum(p.role == "validate" for p in points) == 27
    validate = {
        (p.model.replace("3.3", "3.1"), p.system, p.tensor_parallel_size, p.input_tokens, p.output_tokens)
        for p in points
        if p.role == "validate" and p.input_tokens > 1
    }
    fitted = [p for p in points if p.role == "fit"]
    for p in fitted:
        key = (p.model.replace("3.3", "3.1"), p.system, p.tensor_parallel_size, p.input_tokens, p.output_tokens)
        assert key not in validate, p.id


def test_a_row_is_si():
    point = next(p for p in serving_points() if p.id == "trt017-0001")
    assert (point.model, point.system, point.weight_dtype) == ("llama3.1-8b", "dgx-h200", "fp8")
    assert (point.input_tokens, point.output_tokens, point.output_tokens_per_second) == (128, 128, 29526.04)
    assert point.concurrency is None
