from __future__ import annotations

import pytest

from service.errors import InvalidScenario
from service.persistence.storable import refuse_unstorable
from service.planning.scenarios import NewScenario


def test_every_unstorable_text_is_named_at_once() -> None:
    scenario = NewScenario("a\x00", "collective", {"deep": [{"er": "\ud800"}]}, tags=("\x00",), notes="fine 😀\n\t\x01")
    with pytest.raises(InvalidScenario) as refusal:
        refuse_unstorable(scenario)
    assert [problem.pointer for problem in refusal.value.problems] == ["/name", "/inputs/deep/0/er", "/tags/0"]
    for problem in refusal.value.problems:
        problem.value.encode()


def test_ordinary_text_is_kept() -> None:
    refuse_unstorable(NewScenario("é", "collective", {"gpus": 8, "ratio": 0.5, "model": None, "flags": [True, "x"]}))
