"""Builds what is out of date, several images at once, parents before those that stand on them."""

import os
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from cobaltcore.lab import errors, phases
from cobaltcore.lab.images import (
    catalogue,
    finish,
    inputs,
    means,
    recipe,
    release,
    signing,
    sources,
    store,
    workshop,
)

PHASE = "images"
MOST_JOBS = 8
NICENESS_PER_STEP = 5
MOST_NICENESS = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What to build and how."""

    release: str
    names: Sequence[str] = ()
    base: str = ""
    jobs: int = 0
    is_refresh: bool = False
    is_forced: bool = False
    install_packages: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a run did: seconds by image that was built, and the images that were up to date."""

    built: Mapping[str, float]
    reused: Sequence[str]
    records: Mapping[str, store.Record]


@dataclass(slots=True)
class Run:
    """One build of a set of images."""

    wishes: Wishes
    context: finish.Context
    recipes: Mapping[str, recipe.Recipe]
    given: Mapping[str, inputs.Inputs]
    done: dict[str, store.Record] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def stale(self) -> list[str]:
        """What has to be built, as far as that can be known before building anything."""
        self.done = {}
        known = self.context.kept.records(self.context.pinned.name)
        for name in self.recipes:
            if record := self._current(name, known.get(name)):
                self.done[name] = record
        return [name for name in self.recipes if name not in self.done]

    def build(self, shop: workshop.Workshop, phase: phases.Phase) -> None:
        """Build everything that is not done; one that fails stops those that stand on it."""
        total = len(self.recipes) - len(self.done)
        running: dict[Future[store.Record], str] = {}
        failures: dict[str, errors.LabError] = {}
        with ThreadPoolExecutor(self._jobs()) as pool:
            try:
                while self._start(pool, shop, running, failures):
                    phase.detail(_progress(len(self.seconds), total, running.values()))
                    ended, _ = wait(running, return_when=FIRST_COMPLETED)
                    for future in ended:
                        self._end(shop, running.pop(future), future, failures)
            except BaseException:
                # Ends every process of the build, so that the pool's threads come back.
                shop.place.stop()
                raise
        phase.result(f"{len(self.seconds)} built")
        if failures:
            raise _summary(failures, len(self.recipes) - len(self.done))

    def _end(
        self,
        shop: workshop.Workshop,
        name: str,
        future: Future[store.Record],
        failures: dict[str, errors.LabError],
    ) -> None:
        try:
            self.done[name] = future.result()
        except errors.LabError as error:
            failures[name] = error
        else:
            self._release_space(shop, name)

    def _start(
        self,
        pool: ThreadPoolExecutor,
        shop: workshop.Workshop,
        running: dict[Future[store.Record], str],
        failures: Mapping[str, errors.LabError],
    ) -> bool:
        """Start what can be started; tell whether anything runs."""
        free = self._jobs() - len(running)
        for name in self._ready({*running.values(), *failures})[:free]:
            running[pool.submit(self._make, shop, name)] = name
        return bool(running)

    def _ready(self, taken: set[str]) -> list[str]:
        """What can be built now, that first on which the longest chain waits."""
        found = [
            name
            for name, made in self.recipes.items()
            if name not in self.done
            and name not in taken
            and all(parent in self.done for parent in made.parents)
        ]
        return sorted(found, key=lambda name: -self._height(name))

    def _height(self, name: str) -> int:
        """How many images have to be built one after the other once this one is there."""
        users = [other for other, made in self.recipes.items() if name in made.parents]
        return max((1 + self._height(user) for user in users), default=0)

    def _make_way(self, name: str) -> None:
        """Leave the processors to the longest chain: its length is that of the whole build.

        Priorities belong to threads, and what a thread starts inherits its own. Without the right
        to raise one again, a thread stays as it is.
        """
        tallest = max(self._height(each) for each in self.recipes if each not in self.done)
        steps = tallest - self._height(name)
        priority = min(steps * NICENESS_PER_STEP, MOST_NICENESS)
        with suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), priority)

    def _make(self, shop: workshop.Workshop, name: str) -> store.Record:
        began = time.monotonic()
        self._make_way(name)
        made, given = self.recipes[name], self.given[name]
        parents = {parent: self.done[parent] for parent in made.parents}
        known = self.context.kept.records(self.context.pinned.name)
        if record := self._current(name, known.get(name)):
            return record
        digest = shop.make(made, given, parents)
        if not self.context.archive:
            self.context.archive = shop.archive_state()
        record = finish.record(made, given, digest, parents=parents, context=self.context)
        self.seconds[name] = round(time.monotonic() - began, 1)
        return record

    def _current(self, name: str, latest: store.Record | None) -> store.Record | None:
        """The build of an image that fits: the latest, or an earlier one, which then is it again."""
        if self.wishes.is_forced:
            return None
        if latest and self._is_current(latest):
            return latest
        for record in self.context.kept.builds(self.context.pinned.name, name):
            if self._is_current(record):
                finish.take_again(self.context.kept, record)
                return record
        return None

    def _is_current(self, record: store.Record) -> bool:
        """Whether an image is what its inputs and its parents would give again."""
        parents = self.recipes[record.name].parents
        are_same = all(
            parent in self.done and self.done[parent].digest == record.parents.get(parent)
            for parent in parents
        )
        is_as_new = not self.wishes.is_refresh or record.archive == self.context.archive
        return are_same and is_as_new and record.inputs == self.given[record.name].key

    def _release_space(self, shop: workshop.Workshop, name: str) -> None:
        for used in (name, *self.recipes[name].parents):
            users = [other for other, made in self.recipes.items() if used in made.parents]
            if all(user in self.done for user in users):
                shop.release_space(used)

    def _jobs(self) -> int:
        # More than there are processors: a build also waits, and the last ones should not be alone.
        return self.wishes.jobs or min((os.cpu_count() or 1) + 3, MOST_JOBS)


def build(tree: sources.Sources, directory: Path, wishes: Wishes, shown: phases.Phases) -> Result:
    """Bring images up to date; do nothing, and need nothing, when they are."""
    pinned = release.read(tree, wishes.release)
    recipes = recipe.read_all(tree)
    recipes = recipe.with_parents(recipes, wishes.names or recipes)
    given = {
        name: inputs.gather(tree, pinned, made, base=wishes.base) for name, made in recipes.items()
    }
    kept = store.Store(directory)
    keys = signing.Keys(directory / "keys")
    with kept.locked():
        context = finish.Context(tree=tree, pinned=pinned, kept=kept, keys=keys)
        run = Run(wishes, context, recipes, given)
        try:
            with shown.phase(PHASE) as phase:
                if wishes.is_refresh or run.stale():
                    _build(run, phase)
                else:
                    phase.result(f"all {len(recipes)} are up to date")
        finally:
            catalogue.write_index(tree, kept)
            if run.seconds:
                kept.collect_garbage()
    reused = [name for name in recipes if name not in run.seconds]
    return Result(built=run.seconds, reused=reused, records=run.done)


def _build(run: Run, phase: phases.Phase) -> None:
    wishes, context = run.wishes, run.context
    means.expect(context.kept.directory, may_install=wishes.install_packages, report=phase.detail)
    phase.detail("preparing")
    with workshop.opened(context.kept, base=wishes.base) as shop:
        base = context.kept.records(context.pinned.name).get(recipe.ROOT_FILE_SYSTEM)
        if base is not None and (wishes.is_refresh or recipe.ROOT_FILE_SYSTEM not in run.stale()):
            phase.detail("fetching package lists")
            shop.refresh_lists(base)
            context.archive = shop.archive_state()
        run.stale()
        run.build(shop, phase)


def _progress(done: int, total: int, running: Iterable[str]) -> str:
    return f"{done}/{total}, building {', '.join(sorted(running))}"


def _summary(failures: Mapping[str, errors.LabError], missing: int) -> errors.LabError:
    """All failures in one; those that stand on a failed image are only counted."""
    blocked = missing - len(failures)
    parts = [error.message for error in failures.values()]
    if blocked:
        parts.append(f"not built, because they stand on these: {blocked}")
    return errors.LabError("\n".join(parts), hint=next(iter(failures.values())).hint)
