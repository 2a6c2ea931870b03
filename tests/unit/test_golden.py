"""The desired state of every example that an operator serves is what was reviewed."""

import difflib

import pytest

from tests.support import golden

UPDATE = "if the change is intended: make golden, and review the difference"


@pytest.mark.parametrize("name", golden.names())
def test_desired_state_is_the_reviewed_one(name: str) -> None:
    file = golden.FOLDER / f"{name}.yaml"
    reviewed = file.read_text().splitlines() if file.exists() else []
    found = golden.text(name).splitlines()
    difference = difflib.unified_diff(reviewed, found, f"reviewed {name}", "now", lineterm="", n=2)
    assert reviewed == found, "\n".join([*difference, UPDATE])


def test_every_golden_file_has_an_example() -> None:
    assert {each.stem for each in golden.FOLDER.glob("*.yaml")} == set(golden.names()), UPDATE
