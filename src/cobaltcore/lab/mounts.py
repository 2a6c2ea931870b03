"""The file systems of a node: the host's, with private directories over what must not be shared.

    /run              empty at every start, as after a reboot
    /var/lib /var/log the node's own, kept
    /etc              the host's, with the node's changes on top
    /proc /sys        of the node's namespaces; control groups stay the host's

Mount points exist in the private directories, so none has to be made on the host.
Standard library only.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from cobaltcore.lab import kernel

PRIVATE = ("/var/lib", "/var/log")
RUNTIME = "/run"


def hides(path: Path) -> bool:
    """Whether a node sees something else at a path of the host, unless it is carried."""
    return any(path.is_relative_to(each) for each in (*PRIVATE, RUNTIME))


def set_up(directory: Path, *, carried: Sequence[str], files: Mapping[str, str]) -> None:
    """Mount everything; to be called in a fresh mount namespace."""
    # First private, so that nothing below reaches the host; in the end shared among the
    # containers of the node, for mounts with Bidirectional propagation.
    kernel.mount("none", "/", flags=kernel.RECURSIVE | kernel.PRIVATE)
    _kernel_views(directory)
    for target in PRIVATE:
        _cover(target, directory / "root" / target.lstrip("/"), carried)
    _etc(directory, files)
    # Last, because the directory of the node itself may be under /run.
    _run(directory, carried)
    kernel.mount("none", "/", flags=kernel.RECURSIVE | kernel.SHARED)


def _kernel_views(directory: Path) -> None:
    kernel.mount("proc", "/proc", kind="proc")
    fresh = directory / "sys"
    fresh.mkdir(exist_ok=True)
    kernel.mount("sysfs", str(fresh), kind="sysfs")
    bind = kernel.BIND | kernel.RECURSIVE
    kernel.mount("/sys/fs/cgroup", str(fresh / "fs/cgroup"), flags=bind)
    kernel.mount(str(fresh), "/sys", flags=bind)


def _cover(target: str, private: Path, carried: Sequence[str]) -> None:
    """Put a private directory over a shared one, with what must stay visible in it."""
    private.mkdir(parents=True, exist_ok=True)
    bind = kernel.BIND | kernel.RECURSIVE
    for each in carried:
        if Path(each).is_relative_to(target):
            inside = private / Path(each).relative_to(target)
            inside.mkdir(parents=True, exist_ok=True)
            kernel.mount(each, str(inside), flags=bind)
    kernel.mount(str(private), target, flags=bind)


def _etc(directory: Path, files: Mapping[str, str]) -> None:
    upper, work = directory / "root/etc", directory / "root/.etc-work"
    for each in (upper, work):
        each.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = upper / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    options = f"lowerdir=/etc,upperdir={upper},workdir={work}"
    kernel.mount("overlay", "/etc", kind="overlay", options=options)


def _run(directory: Path, carried: Sequence[str]) -> None:
    fresh = directory / "root/run"
    fresh.mkdir(parents=True, exist_ok=True)
    kernel.mount("tmpfs", str(fresh), kind="tmpfs", options="mode=755")
    for name in ("netns", "lock"):
        (fresh / name).mkdir()
    _cover(RUNTIME, fresh, carried)
