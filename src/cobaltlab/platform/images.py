"""Images that the steps of `cobalt up` need: built or reused, referenced by digest.

A rebuilt image has another digest, so it is rolled out. A new node starts with all images unpacked;
layers of new images are hard-linked into the content store of existing nodes, or pulled by them if
store and lab are on different file systems.
"""

from collections.abc import Iterable
from pathlib import Path

from cobaltcore.agents import waiting
from cobaltcore.api import release
from cobaltcore.cli import phases
from cobaltimages import build, catalogue, recipe, sources, store
from cobaltlab import containerd, imagecache, nodefiles, record, statedir

POLL_SECONDS = 0.5


def ensure(
    state_dir: statedir.StateDir,
    instance: record.Instance,
    names: Iterable[str],
    *,
    progress: phases.Phases,
    install_packages: bool = False,
) -> dict[str, str]:
    """Update images in the store that the lab pulls from; return their references by name."""
    wanted = sorted(names)
    options = build.Options(
        release=release.DEFAULT, names=wanted, install_packages=install_packages
    )
    image_store = store.Store(Path(instance.images))
    result = _build(image_store.directory, options, progress)
    digests = {name: result.records[name].digest for name in wanted}
    roots = [containerd.root(state_dir.node(spec.name)) for spec in nodefiles.node_specs(instance)]
    for root in roots:
        if root.exists():
            image_store.share(containerd.content_store(root), digests.values())
    if fresh := [root for root in roots if not root.exists()]:
        with progress.phase("unpacked images") as phase:
            _unpack(image_store, digests, fresh, phase)
    return {name: _by_digest(name, digest) for name, digest in digests.items()}


def _unpack(
    image_store: store.Store, digests: dict[str, str], fresh: Iterable[Path], phase: phases.Phase
) -> None:
    """Seed the containerd of new nodes from the image cache."""
    named = catalogue.references(sources.find(), image_store, release.DEFAULT, digests)
    wanted = {
        _by_digest(name, digest): sorted(tag for tag, other in named.items() if other == digest)
        for name, digest in digests.items()
    }
    shared = imagecache.ImageCache(image_store.directory / "unpacked")
    image_store.share(shared.content, digests.values())
    shared.update(image_store.directory, wanted, report=phase.detail)
    for root in fresh:
        shared.seed(root)


def _by_digest(name: str, digest: str) -> str:
    return f"{recipe.REGISTRY}/{name}@{digest}"


def _build(directory: Path, options: build.Options, progress: phases.Phases) -> build.Result:
    """Build outdated images; if another process is building, wait for it first."""
    while True:
        try:
            return build.build(sources.find(), directory, options, progress)
        except store.Busy:
            with progress.phase("waiting for another image build"):
                _wait_for_lock(store.Store(directory))


def _wait_for_lock(image_store: store.Store) -> None:
    def is_unlocked() -> bool:
        try:
            with image_store.locked():
                return True
        except store.Busy:
            return False

    waiting.wait_until(is_unlocked, interval=POLL_SECONDS)
