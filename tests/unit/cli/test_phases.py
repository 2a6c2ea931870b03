import json

import pytest

from cobaltcore.cli import phases


class Clock:
    """A clock that a test turns."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Notes:
    def __init__(self) -> None:
        self.events: list[phases.Event] = []

    def show(self, event: phases.Event) -> None:
        self.events.append(event)


def test_a_phase_emits_its_start_its_details_and_its_end() -> None:
    clock, notes = Clock(), Notes()
    shown = phases.Phases(notes, clock=clock)
    with shown.phase("build") as phase:
        clock.now = 2.0
        phase.detail("1/2")
        phase.detail("1/2")
        phase.result("2 built")
        clock.now = 3.5
    assert [(e.state, e.seconds, e.detail) for e in notes.events] == [
        ("started", 0.0, ""),
        ("running", 2.0, "1/2"),
        ("done", 3.5, "2 built"),
    ]
    assert shown.seconds == {"build": 3.5}


def test_a_failed_phase_is_shown_and_raises() -> None:
    notes = Notes()

    def fail() -> None:
        with phases.Phases(notes).phase("build") as phase:
            phase.detail("1/2")
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()
    assert (notes.events[-1].state, notes.events[-1].detail) == ("failed", "1/2")


def test_total_includes_all_phases() -> None:
    clock, notes = Clock(), Notes()
    shown = phases.Phases(notes, clock=clock)
    with shown.phase("one"):
        clock.now = 1.0
    with shown.phase("two"):
        clock.now = 3.0
    assert (notes.events[-1].seconds, notes.events[-1].total) == (2.0, 3.0)


def test_plain_writes_ends_and_long_phases_at_intervals() -> None:
    lines: list[str] = []
    plain = phases.Plain(lines.append, every_seconds=10)
    for seconds in (1.0, 9.0, 11.0, 12.0, 22.0):
        plain.show(phases.Event("build", "running", seconds, seconds, f"at {seconds}"))
    plain.show(phases.Event("build", "done", 23.0, 23.0))
    assert lines == [
        "…   11.0 s  build  at 11.0",
        "…   22.0 s  build  at 22.0",
        "✓   23.0 s  build",
    ]


def test_lines_are_json_objects() -> None:
    lines: list[str] = []
    phases.JsonLines(lines.append).show(phases.Event("build", "done", 1.25, 2.5, "x"))
    assert json.loads(lines[0]) == {
        "event": "phase",
        "phase": "build",
        "state": "done",
        "seconds": 1.25,
        "total": 2.5,
        "detail": "x",
    }


def test_live_rewrites_its_line_and_keeps_the_last_one() -> None:
    written: list[str] = []
    live = phases.Live(written.append, width=20)
    live.show(phases.Event("build", "running", 0.5, 0.5, "a detail that does not fit"))
    live.show(phases.Event("build", "done", 1.0, 1.0))
    assert written[0] == "\r\x1b[2K…    0.5 s  build  a"
    assert written[-1] == "\r\x1b[2K✓    1.0 s  build\n"
