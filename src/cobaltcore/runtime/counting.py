"""Prometheus figures that cost next to nothing to keep.

What is counted all the time is a plain number until somebody asks for it; the library's own
counters take a lock and check themselves every time.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString


class Count:
    """How often something has happened."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0

    def inc(self) -> None:
        """It happened again."""
        self.value += 1


class Durations:
    """How long something took, each time."""

    __slots__ = ("bounds", "seconds", "within")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.within = [0] * (len(bounds) + 1)
        self.seconds = 0.0

    def observe(self, seconds: float) -> None:
        """It took that long this time."""
        self.within[bisect_left(self.bounds, seconds)] += 1
        self.seconds += seconds


class Counts(Collector):
    """Counts of one name, by the values of its labels."""

    def __init__(
        self, name: str, about: str, labels: Sequence[str], *, registry: CollectorRegistry
    ) -> None:
        self._name, self._about, self._labels = name, about, labels
        self._children: dict[tuple[str, ...], Count] = {}
        registry.register(self)

    def labels(self, *values: str) -> Count:
        """The one with these values."""
        return self._children.setdefault(values, Count())

    def collect(self) -> Iterable[Metric]:
        """Tell all of them."""
        family = CounterMetricFamily(self._name, self._about, labels=self._labels)
        for values, count in self._children.items():
            family.add_metric(values, count.value)
        return [family]


class Histogram(Collector):
    """Durations of one name, by the values of its labels."""

    def __init__(
        self,
        name: str,
        about: str,
        labels: Sequence[str],
        *,
        bounds: Sequence[float],
        registry: CollectorRegistry,
    ) -> None:
        self._name, self._about, self._labels = name, about, labels
        self._bounds = bounds
        self._children: dict[tuple[str, ...], Durations] = {}
        registry.register(self)

    def labels(self, *values: str) -> Durations:
        """The one with these values."""
        return self._children.setdefault(values, Durations(self._bounds))

    def collect(self) -> Iterable[Metric]:
        """Tell all of them."""
        family = HistogramMetricFamily(self._name, self._about, labels=self._labels)
        names = [*map(floatToGoString, self._bounds), "+Inf"]
        for values, each in self._children.items():
            up_to = accumulate(each.within)
            family.add_metric(values, list(zip(names, up_to, strict=True)), each.seconds)
        return [family]
