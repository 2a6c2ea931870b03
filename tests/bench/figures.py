"""Results of a bench: figures, each with its baseline and its goal. Goals are shown, never asserted."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

RATIO_DIGITS = 3


@dataclass(frozen=True, slots=True)
class Options:
    """How to measure."""

    quick: bool = False
    """Whether a small load will do: to try the bench out, not for figures to be quoted."""


@dataclass(frozen=True, slots=True)
class Goal:
    """At most `limit`, of the value itself or of its ratio to the baseline."""

    limit: float
    of: Literal["value", "ratio"] = "value"

    def __str__(self) -> str:
        return f"≤ {_short(self.limit)}" + (" x" if self.of == "ratio" else "")


@dataclass(frozen=True, slots=True)
class Baseline:
    """The same figure of something else, measured in the same run."""

    of: str
    value: float


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value."""

    name: str
    value: float
    unit: str
    baseline: Baseline | None = None
    goal: Goal | None = None

    @property
    def ratio(self) -> float | None:
        """The value as a multiple of the baseline's."""
        if self.baseline is None or not self.baseline.value:
            return None
        return round(self.value / self.baseline.value, RATIO_DIGITS)

    @property
    def reached(self) -> bool | None:
        """Whether the goal is met; None without one."""
        if self.goal is None:
            return None
        found = self.value if self.goal.of == "value" else self.ratio
        return found is not None and found <= self.goal.limit

    def as_json(self) -> dict[str, Any]:
        """The figure for machines."""
        return {
            "name": self.name,
            "value": self.value,
            "unit": self.unit,
            "baseline": self.baseline and {"of": self.baseline.of, "value": self.baseline.value},
            "ratio": self.ratio,
            "goal": self.goal and {"limit": self.goal.limit, "of": self.goal.of},
            "reached": self.reached,
        }


Bench = Callable[[Options], Iterator[Figure]]


def table(figures: Iterable[Figure]) -> str:
    """The figures for people, in columns."""
    head = ("figure", "value", "unit", "baseline", "of", "ratio", "goal", "")
    rows = [head, *(_cells(figure) for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    return "\n".join(_line(row, widths) for row in rows)


def _cells(figure: Figure) -> tuple[str, ...]:
    baseline = figure.baseline
    return (
        figure.name,
        _short(figure.value),
        figure.unit,
        _short(baseline.value) if baseline else "",
        baseline.of if baseline else "",
        "" if figure.ratio is None else f"{figure.ratio:g} x",
        str(figure.goal or ""),
        {None: "", True: "reached", False: "missed"}[figure.reached],
    )


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    numbers = {1, 3, 5}
    cells = [
        cell.rjust(width) if column in numbers else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(cells).rstrip()


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"
