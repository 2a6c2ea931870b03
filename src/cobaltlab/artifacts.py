"""Artifacts of a cluster: binaries of Kubernetes, images of the pause container and CoreDNS."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from cobaltcore.runtime import files
from cobaltimages import cache
from cobaltlab import kubebuild, ociarchive, pause, policies, statedir

PAUSE = "pause"
COREDNS = "coredns"


def install(
    state_dir: statedir.StateDir, *, enforces_policies: bool, report: Callable[[str], None]
) -> dict[str, str]:
    """Install binaries and images into a lab, built where missing; return image references."""
    kube = kubebuild.ensure(kubebuild.KUBE, report=report)
    coredns = kubebuild.ensure(kubebuild.COREDNS, report=report)
    _install_programs(state_dir, kube)
    if enforces_policies:
        enforcer = kubebuild.ensure(kubebuild.NETWORK_POLICIES, report=report)
        _link(enforcer, state_dir.programs / policies.PROGRAM)
    return _install_images(state_dir, coredns)


def _install_programs(state_dir: statedir.StateDir, kube: Path) -> None:
    """Hard-link the binaries from the build cache."""
    state_dir.programs.mkdir(exist_ok=True)
    _link(kube, state_dir.programs / kube.name)
    for program in kubebuild.KUBE.programs:
        link = state_dir.programs / program
        if not link.is_symlink():
            link.symlink_to(kube.name)


def build_id(state_dir: statedir.StateDir) -> str:
    """An ID of the installed Kubernetes build; empty if there is none."""
    binary = state_dir.programs / kubebuild.KUBE.name
    if not binary.exists():
        return ""
    found = binary.stat()
    return f"{found.st_size}-{found.st_mtime_ns}"


def _install_images(state_dir: statedir.StateDir, coredns: Path) -> dict[str, str]:
    state_dir.images.mkdir(exist_ok=True)
    shared = cache.cache_directory() / "lab-images" / f"{COREDNS}-{coredns.parent.name}.tar"
    _ensure(shared, lambda: coredns_image(coredns))
    _ensure(state_dir.images / f"{PAUSE}.tar", pause_image)
    _link(shared, state_dir.images / f"{COREDNS}.tar")
    return {path.stem: ociarchive.reference(path) for path in state_dir.images.glob("*.tar")}


def pause_image() -> ociarchive.Image:
    return ociarchive.Image(
        name=PAUSE, entrypoint=["/pause"], programs={"pause": pause.program()}, user="65535:65535"
    )


def coredns_image(program: Path) -> ociarchive.Image:
    return ociarchive.Image(name=COREDNS, entrypoint=["/coredns"], programs={"coredns": program})


def _ensure(path: Path, image: Callable[[], ociarchive.Image]) -> None:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        files.replace(path, ociarchive.archive(image()).content, mode=0o644)


def _link(source: Path, target: Path) -> None:
    """Hard-link a file, or copy it to another file system; running processes keep the old inode."""
    if target.exists() and target.samefile(source):
        return
    fresh = target.with_name(f".{target.name}.new")
    fresh.unlink(missing_ok=True)
    try:
        os.link(source, fresh)
    except OSError:
        if target.exists() and _same_size_and_time(source, target):
            return
        shutil.copy2(source, fresh)
    fresh.replace(target)


def _same_size_and_time(source: Path, target: Path) -> bool:
    one, other = source.stat(), target.stat()
    return (one.st_size, one.st_mtime_ns) == (other.st_size, other.st_mtime_ns)
