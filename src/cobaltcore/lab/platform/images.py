"""Images that a stage of `cobalt up` needs: built or reused, named by digest.

A name by digest changes with the image, so that what was rebuilt is rolled out. Nodes find the layers
where they would download them to, if links can be made from the store to there; else they pull.
"""

import signal
from collections.abc import Iterable
from pathlib import Path

from cobaltcore.api import release
from cobaltcore.lab import containers, home, phases, record
from cobaltcore.lab.images import build, recipe, sources, store

POLL_SECONDS = 0.5


def ensure(
    place: home.Home,
    instance: record.Instance,
    names: Iterable[str],
    *,
    shown: phases.Phases,
    install_packages: bool = False,
) -> dict[str, str]:
    """Bring images up to date where the instance pulls from; return their references by name."""
    wanted = sorted(names)
    wishes = build.Wishes(release=release.DEFAULT, names=wanted, install_packages=install_packages)
    directory = Path(instance.images)
    result = _build(directory, wishes, shown)
    for node in place.machines():
        content = containers.content(node)
        store.Store(directory).share(content, [result.records[name].digest for name in wanted])
    return {name: f"{recipe.REGISTRY}/{name}@{result.records[name].digest}" for name in wanted}


def _build(directory: Path, wishes: build.Wishes, shown: phases.Phases) -> build.Result:
    """Build what is out of date; wait for a build of somebody else first."""
    while True:
        try:
            return build.build(sources.find(), directory, wishes, shown)
        except store.Busy:
            with shown.phase("images of another build"):
                _wait(store.Store(directory))


def _wait(kept: store.Store) -> None:
    while True:
        try:
            with kept.locked():
                return
        except store.Busy:
            signal.sigtimedwait((), POLL_SECONDS)
