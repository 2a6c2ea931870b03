"""Prometheus metrics with little cost per update.

A counter is a plain number until it is scraped; the library's own counters take a lock and
validate their labels with every update.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString


class Count:
    """A counter with fixed label values."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0

    def inc(self) -> None:
        self.value += 1


class Durations:
    """A histogram with fixed label values."""

    __slots__ = ("bounds", "seconds", "within")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.within = [0] * (len(bounds) + 1)
        self.seconds = 0.0

    def observe(self, seconds: float) -> None:
        self.within[bisect_left(self.bounds, seconds)] += 1
        self.seconds += seconds


class Counts(Collector):
    """A counter with labels."""

    def __init__(
        self, name: str, help_: str, labels: Sequence[str], *, registry: CollectorRegistry
    ) -> None:
        self._name, self._help, self._labels = name, help_, labels
        self._children: dict[tuple[str, ...], Count] = {}
        registry.register(self)

    def labels(self, *values: str) -> Count:
        return self._children.setdefault(values, Count())

    def collect(self) -> Iterable[Metric]:
        family = CounterMetricFamily(self._name, self._help, labels=self._labels)
        for values, count in self._children.items():
            family.add_metric(values, count.value)
        return [family]


class Histogram(Collector):
    """A histogram of durations with labels."""

    def __init__(
        self,
        name: str,
        help_: str,
        labels: Sequence[str],
        *,
        bounds: Sequence[float],
        registry: CollectorRegistry,
    ) -> None:
        self._name, self._help, self._labels = name, help_, labels
        self._bounds = bounds
        self._children: dict[tuple[str, ...], Durations] = {}
        registry.register(self)

    def labels(self, *values: str) -> Durations:
        return self._children.setdefault(values, Durations(self._bounds))

    def collect(self) -> Iterable[Metric]:
        family = HistogramMetricFamily(self._name, self._help, labels=self._labels)
        names = [*map(floatToGoString, self._bounds), "+Inf"]
        for values, each in self._children.items():
            up_to = accumulate(each.within)
            family.add_metric(values, list(zip(names, up_to, strict=True)), each.seconds)
        return [family]
