"""Computes the pins of a release: what the package index had on its date.

`upper-constraints.txt` pins every package once. `requirements/<image>.txt` lists, with hashes,
what the layer of each image installs: what two or more components need is in the shared layer,
and a component's own layer holds the rest.
"""

import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from cobaltcore.runtime import files
from cobaltimages import errors, release, sources

PYTHON_VERSION = "3.11"
_FAR_FUTURE = "9999-12-31"
_HEADER = "# Written by `cobalt images lock`: packages as the index had them on {date}.\n"


def update(tree: sources.Sources, name: str) -> release.Release:
    """Compute and write the pins of a release; return the new release."""
    pinned = release.read(tree, name)
    resolver = Resolver(pinned, tree)
    constraints = resolver.constraints()
    components = {
        component: resolver.packages(component, constraints) for component in pinned.refs
    }
    needs = {component: set(packages) for component, packages in components.items()}
    wanted = pinned.additions(release.SHARED).pip_packages
    shared = resolver.resolve(wanted, constraints)
    layers = split(needs, always_shared=set(shared))
    everything = {**shared}
    for packages in components.values():
        everything |= packages
    header = _HEADER.format(date=pinned.exclude_newer)
    pinned.requirements(release.SHARED).parent.mkdir(exist_ok=True)
    for layer, names in layers.items():
        text = header + "".join(everything[package] for package in sorted(names))
        files.replace(pinned.requirements(layer), text.encode(), mode=0o644)
    text = header + "".join(
        f"{name}==={version}\n" for name, version in sorted(constraints.items())
    )
    files.replace(pinned.directory / "upper-constraints.txt", text.encode(), mode=0o644)
    return release.read(tree, name)


def split(
    needs: Mapping[str, Iterable[str]], *, always_shared: Iterable[str] = ()
) -> dict[str, set[str]]:
    """Which layer holds which package: shared when two need it, else with its only user."""
    users = Counter(package for packages in needs.values() for package in set(packages))
    shared = {package for package, count in users.items() if count > 1} | set(always_shared)
    own = {component: set(packages) - shared for component, packages in needs.items()}
    return {release.SHARED: shared, **own}


class Resolver:
    """Resolves versions with uv."""

    def __init__(self, pinned: release.Release, tree: sources.Sources) -> None:
        self._pinned = pinned
        self._uv = find_uv(tree.root)

    def constraints(self) -> dict[str, str]:
        """One version of every package that any image needs."""
        pinned = self._pinned
        wanted = [pinned.requirement(component) for component in pinned.refs]
        wanted += [package for extra in pinned.extras.values() for package in extra.pip_packages]
        return release.read_pins(self._compile(wanted, {}))

    def packages(self, component: str, constraints: Mapping[str, str]) -> dict[str, str]:
        """Name → pin with hashes, for everything a component needs."""
        extra = self._pinned.additions(component)
        wanted = [self._pinned.requirement(component), *extra.pip_packages]
        return self.resolve(wanted, constraints)

    def resolve(self, wanted: Sequence[str], constraints: Mapping[str, str]) -> dict[str, str]:
        """Name → pin with hashes, for the wanted packages and all they need."""
        return pins_with_hashes(self._compile(wanted, constraints, "--generate-hashes"))

    def _compile(
        self, wanted: Sequence[str], constraints: Mapping[str, str], *options: str
    ) -> str:
        with tempfile.TemporaryDirectory() as scratch:
            limits = Path(scratch, "constraints.txt")
            limits.write_text("".join(f"{n}=={v}\n" for n, v in constraints.items()))
            replaced = Path(scratch, "overrides.txt")
            pins = self._pinned.overrides.replaced
            replaced.write_text("".join(f"{n}=={v}\n" for n, v in pins.items()))
            command = [
                *(
                    self._uv,
                    "pip",
                    "compile",
                    "--quiet",
                    "--no-header",
                    "--no-annotate",
                    "--no-config",
                ),
                *(
                    "--python-version",
                    PYTHON_VERSION,
                    "--exclude-newer",
                    self._pinned.exclude_newer,
                ),
                *self._freed(),
                *("--constraints", str(limits), "--overrides", str(replaced), *options, "-"),
            ]
            done = subprocess.run(  # noqa: S603 arguments are ours
                command, input="\n".join(wanted), capture_output=True, text=True, check=False
            )
        if done.returncode:
            raise errors.HostError(
                f"the packages of {self._pinned.name} cannot be resolved:\n{done.stderr.strip()}",
                hint="change source-refs.yaml, extra-packages.yaml or the release's overrides",
            )
        return done.stdout

    def _freed(self) -> list[str]:
        names = sorted(self._pinned.overrides.freed)
        return [f"--exclude-newer-package={name}={_FAR_FUTURE}" for name in names]


def pins_with_hashes(text: str) -> dict[str, str]:
    """Split a compiled requirements file into its pins, each with its lines of hashes."""
    found: dict[str, str] = {}
    name = ""
    for line in text.splitlines(keepends=True):
        if line[0] not in " #":
            (name,) = release.read_pins(line)
            found[name] = line
        elif name and line[0] == " ":
            found[name] += line
    return found


def find_uv(root: Path) -> str:
    """The uv of this machine, or the one that set up the source tree."""
    found = shutil.which("uv") or shutil.which(root / ".cache" / "uv")
    if found is None:
        raise errors.HostError(
            "uv is not installed", hint="install uv, or run any make target once"
        )
    return found
