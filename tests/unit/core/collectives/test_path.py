"""The path is plain frozen data."""

import dataclasses

import pytest

from tests.collective_paths import ROUND


def test_a_path_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        ROUND.max_channels = 3
