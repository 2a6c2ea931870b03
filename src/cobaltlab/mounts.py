"""Mounts of a node: the root of the host, with private directories over what must not be shared.

    /run              tmpfs, empty at every start
    /var/lib /var/log private to the node, persistent
    /etc              overlay over the host's
    /proc /sys        of the node's namespaces; cgroups are the host's

Mount points exist in the private directories, so none is created on the host.
Standard library only.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from cobaltlab import kernel

PRIVATE = ("/var/lib", "/var/log")
RUNTIME = "/run"


def hides(path: Path) -> bool:
    """Whether a private directory covers this path of the host, unless it is bind-mounted."""
    return any(path.is_relative_to(each) for each in (*PRIVATE, RUNTIME))


def set_up(directory: Path, *, bind_mounts: Sequence[str], files: Mapping[str, str]) -> None:
    """Mount everything; call it in a new mount namespace."""
    # Private first, so that no mount propagates to the host; shared at the end, for containers
    # of the node with mountPropagation Bidirectional.
    kernel.mount("none", "/", flags=kernel.RECURSIVE | kernel.PRIVATE)
    _proc_and_sys(directory)
    for target in PRIVATE:
        _cover(target, directory / "root" / target.lstrip("/"), bind_mounts)
    _etc(directory, files)
    # Last, because the directory of the node itself may be under /run.
    _run(directory, bind_mounts)
    kernel.mount("none", "/", flags=kernel.RECURSIVE | kernel.SHARED)


def _proc_and_sys(directory: Path) -> None:
    kernel.mount("proc", "/proc", kind="proc")
    fresh = directory / "sys"
    fresh.mkdir(exist_ok=True)
    kernel.mount("sysfs", str(fresh), kind="sysfs")
    bind = kernel.BIND | kernel.RECURSIVE
    kernel.mount("/sys/fs/cgroup", str(fresh / "fs/cgroup"), flags=bind)
    kernel.mount(str(fresh), "/sys", flags=bind)


def _cover(target: str, private: Path, bind_mounts: Sequence[str]) -> None:
    """Mount a private directory over one of the host, with the bind mounts inside it."""
    private.mkdir(parents=True, exist_ok=True)
    bind = kernel.BIND | kernel.RECURSIVE
    for each in bind_mounts:
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


def _run(directory: Path, bind_mounts: Sequence[str]) -> None:
    fresh = directory / "root/run"
    fresh.mkdir(parents=True, exist_ok=True)
    kernel.mount("tmpfs", str(fresh), kind="tmpfs", options="mode=755")
    for name in ("netns", "lock"):
        (fresh / name).mkdir()
    _cover(RUNTIME, fresh, bind_mounts)
