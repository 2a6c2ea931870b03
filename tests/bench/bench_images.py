"""A build of all images, compared with a plain installation of the same Python packages. Needs root.

Nothing is cached: no image, no package of Python or Debian. What is fetched comes from the mirrors
that this machine uses.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from cobaltimages import lock, recipe, release
from tests.bench import measure, progress
from tests.bench.figures import Baseline, Figure, Goal, Options
from tests.support import built_images, workloads
from tests.support.lab import Lab, run

COLD_GOAL_SECONDS = 240.0
WARM_GOAL_SECONDS = 3.0
UNPACKED_GOAL_MEGABYTES = 1500.0
NODE = "control-plane"
QUICK = ("keystone",)
PINNED = release.read(built_images.TREE, built_images.RELEASE)
# Packages that the index has as source only; building them would need headers on this machine.
NO_WHEEL = frozenset({"python-ldap", "uwsgi"})
SNAPSHOTS = "io.containerd.snapshotter.v1.overlayfs"


def figures(options: Options) -> Iterator[Figure]:
    """Build all images into an empty store, then run the services' images on a node."""
    if not measure.is_root():
        return
    with tempfile.TemporaryDirectory(prefix="bench-") as place:
        store = Path(place, "images")
        names = QUICK if options.quick else ()
        plain = measure.seconds(lambda: _plain_installation(Path(place, "plain")))
        progress.report(f"  plain installation {plain} s")
        build = ("images", "build", "--yes", "--quiet", "--store", str(store), *names)
        yield Figure(
            "images: all built, nothing cached",
            measure.seconds(lambda: _cobalt(*build)),
            "s",
            Baseline("the Python packages by uv", plain),
            Goal(COLD_GOAL_SECONDS),
        )
        yield Figure(
            "images: nothing to build",
            measure.seconds(lambda: _cobalt(*build)),
            "s",
            Baseline("cobalt --version", measure.seconds(lambda: _cobalt("--version"))),
            Goal(WARM_GOAL_SECONDS),
        )
        services = names or built_images.SERVICES
        yield from _on_a_node(Lab(Path(place, "lab")), store, services)


def _plain_installation(place: Path) -> None:
    """The services' Python packages in one environment, compiled, by uv alone."""
    pins: dict[str, str] = {}
    for image in (release.SHARED, *built_images.SERVICES):
        pins |= PINNED.pins(image)
    place.mkdir()
    wanted = [f"{name}=={version}" for name, version in pins.items() if name not in NO_WHEEL]
    (place / "requirements.txt").write_text("\n".join(wanted))
    uv = lock.find_uv(built_images.TREE.root)
    environment = {**os.environ, "UV_CACHE_DIR": str(place / "cache"), "UV_SYSTEM_CERTS": "true"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    venv = str(place / "venv")
    run([uv, "venv", "--quiet", "--python", sys.executable, venv], environment)
    install = [uv, "pip", "install", "--quiet", "--no-deps", "--compile-bytecode"]
    run([*install, "--python", venv, "--requirement", f"{place}/requirements.txt"], environment)
    shutil.rmtree(place)


def _on_a_node(lab: Lab, store: Path, services: Sequence[str]) -> Iterator[Figure]:
    """Start a pod of every service's image on one node, and look at what that node keeps."""
    lab.root.mkdir()
    try:
        lab.up("--nodes", "1", "--images", str(store))
        before = _unpacked_megabytes(lab)
        pulled = measure.seconds(lambda: _run_all(lab, services))
        yield Figure(
            "images: service images on a node, unpacked",
            round(_unpacked_megabytes(lab) - before),
            "MB",
            goal=Goal(UNPACKED_GOAL_MEGABYTES),
        )
        yield Figure("images: pods of all service images Ready, none there before", pulled, "s")
    finally:
        lab.remove()


def _run_all(lab: Lab, services: Sequence[str]) -> None:
    pods = [
        workloads.pod(
            name,
            f"{recipe.REGISTRY}/{name}:{PINNED.refs[name]}",
            container={"imagePullPolicy": "IfNotPresent"},
        )
        for name in services
    ]
    lab.create("default", *pods)
    for name in services:
        lab.wait_for_pod("default", name)


def _unpacked_megabytes(lab: Lab) -> float:
    """What the node's container runtime has unpacked, in blocks of the disk."""
    unpacked = lab.state_dir.node(NODE) / "root/var/lib/containerd" / SNAPSHOTS
    answer = run(["du", "--summarize", "--block-size=1", str(unpacked)], os.environ)
    return int(answer.split()[0]) / 10**6


def _cobalt(*arguments: str) -> None:
    run([sys.executable, "-m", "cobaltcore.cli.main", *arguments], os.environ)
