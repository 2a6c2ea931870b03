"""Images that the stages of `cobalt up` need: built or reused, named by digest.

A name by digest changes with the image, so that what was rebuilt is rolled out. A node that has never
run begins with all of them unpacked. Others find the layers of what is new where they would
download them to, if links can be made from the store to there; else they pull.
"""

import signal
from collections.abc import Iterable
from pathlib import Path

from cobaltcore.api import release
from cobaltcore.lab import containers, home, layout, phases, record, unpacked
from cobaltcore.lab.images import build, catalogue, recipe, sources, store

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
    kept = store.Store(Path(instance.images))
    result = _build(kept.directory, wishes, shown)
    digests = {name: result.records[name].digest for name in wanted}
    roots = [containers.root(place.node(seat.name)) for seat in layout.seats(instance)]
    for root in roots:
        if root.exists():
            kept.share(containers.content(root), digests.values())
    if fresh := [root for root in roots if not root.exists()]:
        with shown.phase("unpacked images") as phase:
            _unpack(kept, digests, fresh, phase)
    return {name: _by_digest(name, digest) for name, digest in digests.items()}


def _unpack(
    kept: store.Store, digests: dict[str, str], fresh: Iterable[Path], phase: phases.Phase
) -> None:
    """Let nodes that have never run begin with the images unpacked."""
    named = catalogue.references(sources.find(), kept, release.DEFAULT, digests)
    wanted = {
        _by_digest(name, digest): sorted(tag for tag, other in named.items() if other == digest)
        for name, digest in digests.items()
    }
    shared = unpacked.Unpacked(kept.directory / "unpacked")
    kept.share(shared.content, digests.values())
    shared.update(kept.directory, wanted, report=phase.detail)
    for root in fresh:
        shared.begin(root)


def _by_digest(name: str, digest: str) -> str:
    return f"{recipe.REGISTRY}/{name}@{digest}"


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
