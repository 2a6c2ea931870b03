"""Builds outdated images, several at once, base images first."""

import os
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from cobaltcore.cli import phases
from cobaltimages import (
    builddir,
    catalogue,
    errors,
    finish,
    inputs,
    preflight,
    recipe,
    release,
    signing,
    sources,
    store,
)

PHASE = "images"
MOST_JOBS = 8
NICENESS_PER_STEP = 5
MOST_NICENESS = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
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

    options: Options
    context: finish.Context
    recipes: Mapping[str, recipe.Recipe]
    build_inputs: Mapping[str, inputs.Inputs]
    done: dict[str, store.Record] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def stale(self) -> list[str]:
        """What has to be built, as far as that can be known before building anything."""
        self.done = {}
        known = self.context.image_store.records(self.context.pinned.name)
        for name in self.recipes:
            if record := self._current(name, known.get(name)):
                self.done[name] = record
        return [name for name in self.recipes if name not in self.done]

    def build(self, build_dir: builddir.BuildDir, phase: phases.Phase) -> None:
        """Build everything that is not done; a failure stops the images that are built on it."""
        total = len(self.recipes) - len(self.done)
        running: dict[Future[store.Record], str] = {}
        failures: dict[str, errors.HostError] = {}
        with ThreadPoolExecutor(self._jobs()) as pool:
            try:
                while self._start(pool, build_dir, running, failures):
                    phase.detail(_progress(len(self.seconds), total, running.values()))
                    ended, _ = wait(running, return_when=FIRST_COMPLETED)
                    for future in ended:
                        self._end(build_dir, running.pop(future), future, failures)
            except BaseException:
                # Ends every process of the build, so that the threads of the pool end.
                build_dir.place.stop()
                raise
        phase.result(f"{len(self.seconds)} built")
        if failures:
            raise _summary(failures, len(self.recipes) - len(self.done))

    def _end(
        self,
        build_dir: builddir.BuildDir,
        name: str,
        future: Future[store.Record],
        failures: dict[str, errors.HostError],
    ) -> None:
        try:
            self.done[name] = future.result()
        except errors.HostError as error:
            failures[name] = error
        else:
            self._release_space(build_dir, name)

    def _start(
        self,
        pool: ThreadPoolExecutor,
        build_dir: builddir.BuildDir,
        running: dict[Future[store.Record], str],
        failures: Mapping[str, errors.HostError],
    ) -> bool:
        """Start builds whose base images are done; return whether any build is running."""
        free = self._jobs() - len(running)
        for name in self._ready({*running.values(), *failures})[:free]:
            running[pool.submit(self._make, build_dir, name)] = name
        return bool(running)

    def _ready(self, taken: set[str]) -> list[str]:
        """Images that can be built now, those with the longest chain of dependents first."""
        found = [
            name
            for name, target in self.recipes.items()
            if name not in self.done
            and name not in taken
            and all(parent in self.done for parent in target.parents)
        ]
        return sorted(found, key=lambda name: -self._height(name))

    def _height(self, name: str) -> int:
        """Length of the longest chain of images that are built on this one."""
        users = [other for other, target in self.recipes.items() if name in target.parents]
        return max((1 + self._height(user) for user in users), default=0)

    def _set_priority(self, name: str) -> None:
        """Lower the priority of builds that are not in the longest chain.

        Priorities belong to threads, and what a thread starts inherits its own. Without the right
        to raise one again, a thread stays as it is.
        """
        tallest = max(self._height(each) for each in self.recipes if each not in self.done)
        steps = tallest - self._height(name)
        priority = min(steps * NICENESS_PER_STEP, MOST_NICENESS)
        with suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), priority)

    def _make(self, build_dir: builddir.BuildDir, name: str) -> store.Record:
        began = time.monotonic()
        self._set_priority(name)
        target, build_inputs = self.recipes[name], self.build_inputs[name]
        parents = {parent: self.done[parent] for parent in target.parents}
        known = self.context.image_store.records(self.context.pinned.name)
        if record := self._current(name, known.get(name)):
            return record
        if earlier := self._same_below_agents(name):
            below, archive = earlier.digest_below_agents, earlier.archive
        else:
            below = build_dir.make(target, build_inputs, parents)
            self.context.archive = self.context.archive or build_dir.archive_state()
            archive = self.context.archive
        digest = build_dir.finish(target, build_inputs, below)
        built = finish.Built(digest=digest, digest_below_agents=below, archive=archive)
        record = finish.record(target, build_inputs, built, parents=parents, context=self.context)
        self.seconds[name] = round(time.monotonic() - began, 1)
        return record

    def _current(self, name: str, latest: store.Record | None) -> store.Record | None:
        """The build of an image that fits: the latest, or an earlier one, which then is it again."""
        if self.options.is_forced:
            return None
        if latest and self._is_current(latest):
            return latest
        for record in self.context.image_store.builds(self.context.pinned.name, name):
            if self._is_current(record):
                finish.reuse(self.context.image_store, record)
                return record
        return None

    def _same_below_agents(self, name: str) -> store.Record | None:
        """An earlier build of an image that differs in nothing but its agents."""
        if self.options.is_forced or not self.build_inputs[name].agents:
            return None
        key = self.build_inputs[name].key_below_agents
        for record in self.context.image_store.builds(self.context.pinned.name, name):
            if record.inputs_below_agents == key and self._has_current_parents(record):
                return record
        return None

    def _parent_digest(self, name: str) -> str | None:
        """What others are built on, if that needs no build of this image."""
        record = self.done.get(name) or self._same_below_agents(name)
        return record.parent_digest if record else None

    def _is_current(self, record: store.Record) -> bool:
        """Whether a build of the image would have the same inputs and base images."""
        is_same = record.inputs == self.build_inputs[record.name].key
        return is_same and self._has_current_parents(record)

    def _has_current_parents(self, record: store.Record) -> bool:
        """Whether an image was built on what is below it now, from packages as they are wanted."""
        are_same = all(
            self._parent_digest(parent) == record.parents.get(parent, "")
            for parent in self.recipes[record.name].parents
        )
        is_as_new = not self.options.is_refresh or record.archive == self.context.archive
        return are_same and is_as_new

    def _release_space(self, build_dir: builddir.BuildDir, name: str) -> None:
        for used in (name, *self.recipes[name].parents):
            users = [other for other, target in self.recipes.items() if used in target.parents]
            if all(user in self.done for user in users):
                build_dir.release_space(used)

    def _jobs(self) -> int:
        # More than there are processors: a build also waits, and the last ones should not be alone.
        return self.options.jobs or min((os.cpu_count() or 1) + 3, MOST_JOBS)


def build(
    tree: sources.Sources, directory: Path, options: Options, shown: phases.Phases
) -> Result:
    """Bring images up to date; do nothing, and need nothing, when they are."""
    pinned = release.read(tree, options.release)
    recipes = recipe.read_all(tree)
    recipes = recipe.with_parents(recipes, options.names or recipes)
    build_inputs = {
        name: inputs.gather(tree, pinned, target, base=options.base)
        for name, target in recipes.items()
    }
    image_store = store.Store(directory)
    keys = signing.Keys(directory / "keys")
    with image_store.locked():
        context = finish.Context(tree=tree, pinned=pinned, image_store=image_store, keys=keys)
        run = Run(options, context, recipes, build_inputs)
        try:
            with shown.phase(PHASE) as phase:
                if options.is_refresh or run.stale():
                    _build(run, phase)
                else:
                    phase.result(f"all {len(recipes)} are up to date")
        finally:
            catalogue.write_index(tree, image_store)
            if run.seconds:
                image_store.collect_garbage()
    reused = [name for name in recipes if name not in run.seconds]
    return Result(built=run.seconds, reused=reused, records=run.done)


def _build(run: Run, phase: phases.Phase) -> None:
    options, context = run.options, run.context
    preflight.check(
        context.image_store.directory, may_install=options.install_packages, report=phase.detail
    )
    phase.detail("preparing")
    with builddir.opened(context.image_store, base=options.base) as build_dir:
        base = context.image_store.records(context.pinned.name).get(recipe.ROOT_FILE_SYSTEM)
        if base is not None and (options.is_refresh or recipe.ROOT_FILE_SYSTEM not in run.stale()):
            phase.detail("fetching package lists")
            build_dir.refresh_lists(base)
            context.archive = build_dir.archive_state()
        run.stale()
        run.build(build_dir, phase)


def _progress(done: int, total: int, running: Iterable[str]) -> str:
    return f"{done}/{total}, building {', '.join(sorted(running))}"


def _summary(failures: Mapping[str, errors.HostError], missing: int) -> errors.HostError:
    """All failures in one error; images that are built on a failed one are only counted."""
    blocked = missing - len(failures)
    parts = [error.message for error in failures.values()]
    if blocked:
        parts.append(f"{blocked} images not built because their base images failed")
    return errors.HostError("\n".join(parts), hint=next(iter(failures.values())).hint)
