from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.errors import InvalidScenario
from service.persistence.cursors import from_cursor, to_cursor


@given(st.text(st.characters(codec="utf-8"), min_size=1))
def test_a_cursor_gives_its_key_back_and_fits_a_query_string(key: str) -> None:
    cursor = to_cursor("list", key)
    assert from_cursor("list", cursor) == key
    assert cursor.isascii()
    assert cursor.replace("-", "").replace("_", "").isalnum()


def test_a_cursor_of_another_list_is_refused() -> None:
    with pytest.raises(InvalidScenario, match="not a cursor of this list"):
        from_cursor("scenarios", to_cursor("evaluations", "1"))


@given(st.text())
def test_any_text_is_a_cursor_or_refused(text: str) -> None:
    key = ""
    with suppress(InvalidScenario):
        key = from_cursor("list", text)
    assert key == "" or from_cursor("list", to_cursor("list", key)) == key
