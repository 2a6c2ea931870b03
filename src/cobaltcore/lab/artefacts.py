"""What a cluster is made of before it starts: programs and two small images."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from cobaltcore.lab import home, kubebuild, ociarchive, pause
from cobaltcore.runtime import files

PAUSE = "pause"
COREDNS = "coredns"


def install(place: home.Home, *, report: Callable[[str], None]) -> dict[str, str]:
    """Put programs and images into an instance, built where missing; return images' references."""
    kube = kubebuild.ensure(kubebuild.KUBE, report=report)
    coredns = kubebuild.ensure(kubebuild.COREDNS, report=report)
    _install_programs(place, kube)
    return _install_images(place, coredns)


def _install_programs(place: home.Home, kube: Path) -> None:
    """Link the programs, which costs no time or space."""
    place.programs.mkdir(exist_ok=True)
    _link(kube, place.programs / kube.name)
    for program in kubebuild.KUBE.programs:
        link = place.programs / program
        if not link.is_symlink():
            link.symlink_to(kube.name)


def build_of(place: home.Home) -> str:
    """Something that differs between builds of Kubernetes; empty if there is none yet."""
    binary = place.programs / kubebuild.KUBE.name
    if not binary.exists():
        return ""
    found = binary.stat()
    return f"{found.st_size}-{found.st_mtime_ns}"


def _install_images(place: home.Home, coredns: Path) -> dict[str, str]:
    """Make the images' archives where they are missing."""
    place.images.mkdir(exist_ok=True)
    shared = kubebuild.cache_directory() / "lab-images" / f"{COREDNS}-{coredns.parent.name}.tar"
    _ensure(shared, lambda: coredns_image(coredns))
    _ensure(place.images / f"{PAUSE}.tar", pause_image)
    _link(shared, place.images / f"{COREDNS}.tar")
    return {path.stem: ociarchive.reference(path) for path in place.images.glob("*.tar")}


def pause_image() -> ociarchive.Image:
    """The image of every pod's first container."""
    return ociarchive.Image(
        name=PAUSE, entrypoint=["/pause"], programs={"pause": pause.program()}, user="65535:65535"
    )


def coredns_image(program: Path) -> ociarchive.Image:
    """The image of the cluster's name server."""
    return ociarchive.Image(name=COREDNS, entrypoint=["/coredns"], programs={"coredns": program})


def _ensure(path: Path, image: Callable[[], ociarchive.Image]) -> None:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        files.replace(path, ociarchive.archive(image()).content, mode=0o644)


def _link(source: Path, target: Path) -> None:
    """Give a file a second name, or copy it to another disk; running programs keep the old one."""
    if target.exists() and target.samefile(source):
        return
    fresh = target.with_name(f".{target.name}.new")
    fresh.unlink(missing_ok=True)
    try:
        os.link(source, fresh)
    except OSError:
        if target.exists() and _looks_like(source, target):
            return
        shutil.copy2(source, fresh)
    fresh.replace(target)


def _looks_like(source: Path, target: Path) -> bool:
    one, other = source.stat(), target.stat()
    return (one.st_size, one.st_mtime_ns) == (other.st_size, other.st_mtime_ns)
