"""The root file system of all images, built from Debian packages by mmdebstrap."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from cobaltimages import aptsettings, hostsettings, scratch

OPTIONS = "options"
_APT_CONF = "etc/apt/apt.conf.d/00host"


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildSpec:
    """A root file system to build: options, time stamp, and the tar file to write."""

    options: Path
    epoch: str
    target: Path
    authority: Path | None


def build(spec: BuildSpec, place: scratch.Scratch, log: IO[bytes]) -> int:
    """Write the root file system as a tar file; return mmdebstrap's exit code.

    The machine's apt settings are in it during the build and removed at the end. The package lists
    stay in the scratch directory, for the other images.
    """
    settings = place.place / "bootstrap"
    # apt runs outside of the new root first and inside of it later, where files lie elsewhere.
    for name, mounted_at in (
        ("outside", settings / "outside"),
        ("inside", hostsettings.MOUNTED_AT),
    ):
        copy = place.outside(settings / name)
        copy.mkdir(parents=True)
        hostsettings.write_apt(copy, mounted_at, {}, spec.authority)
    command: list[str | Path] = [
        *("env", f"SOURCE_DATE_EPOCH={spec.epoch}"),
        *("mmdebstrap", "--mode=root", "--format=tar", "--quiet", "--skip=output/dev"),
        *spec.options.read_text().splitlines(),
        *_hooks(settings, lists=place.place / "host" / "lists"),
        *(
            aptsettings.SUITE,
            spec.target,
            settings / "outside" / "sources.list.d" / "host.sources",
        ),
    ]
    try:
        return place.run(command, log)
    finally:
        shutil.rmtree(place.outside(settings))


def _hooks(settings: Path, *, lists: Path) -> list[str]:
    inside = f'"$1{hostsettings.MOUNTED_AT}"'
    fetched = 'find "$1/var/lib/apt/lists" -maxdepth 1 -type f ! -name lock'
    return [
        f'--setup-hook=cp {settings}/outside/apt.conf "$1/{_APT_CONF}"',
        f'--setup-hook=cp -r {settings}/outside/auth.conf.d "$1/etc/apt/"',
        f"--essential-hook=cp -r {settings}/inside {inside}",
        f'--essential-hook=cp {settings}/inside/apt.conf "$1/{_APT_CONF}"',
        f"--customize-hook={fetched} -exec cp -p -t {lists} {{}} +",
        f'--customize-hook=rm -rf {inside} "$1/{_APT_CONF}" "$1"/etc/apt/auth.conf.d/*',
        '--customize-hook=rm -rf "$1"/etc/apt/sources.list "$1"/etc/apt/sources.list.d/*',
        *(
            f'--customize-hook=: > "$1/etc/{name}"'
            for name in ("resolv.conf", "hostname", "hosts")
        ),
    ]
