"""Every command of the README's tour runs, and prints what the README says."""

from tests.readme_tour import README, with_output


def test_the_tours_output_is_true() -> None:
    text = README.read_text(encoding="utf-8")
    assert with_output(text) == text, "run `make tour` and look at what changed"
