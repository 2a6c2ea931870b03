"""Builds single images, each in its own container, in one scratch directory."""

import hashlib
import os
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from cobaltimages import (
    agents,
    buildah,
    errors,
    hostsettings,
    inputs,
    logs,
    oci,
    recipe,
    rootfs,
    scratch,
    sources,
    store,
)

CHECK_AT = "/run/check"
CHECKS_AT = "/run/checks"
COLLECT_AT = "/run/collect-options"
OPTIONS_AT = "/run/options"
_LOCAL_TAG = "latest"
_WITH_AGENTS = "-with-agents"
"""What the local name of a finished image ends with; the plain name is what others are built on."""


@dataclass(slots=True)
class BuildDir:
    """A scratch directory with buildah, and the store of finished images."""

    place: scratch.Scratch
    image_store: store.Store
    tools: buildah.Buildah
    base: str = ""
    _pulled: set[str] = field(default_factory=set)
    _pulling: threading.Lock = field(default_factory=threading.Lock)

    def make(
        self,
        target: recipe.Recipe,
        build_inputs: inputs.Inputs,
        parents: Mapping[str, store.Record],
    ) -> str:
        """Build an image from its Containerfile; return its digest."""
        with self._log(target.name) as log:
            for name, record in parents.items():
                self._pull(name, record.parent_digest, log)
            if target.is_root_file_system and not self.base:
                digest = self._root_file_system(target, build_inputs, log)
            else:
                digest = self._from_containerfile(target, build_inputs, parents, log)
        return digest

    def finish(self, target: recipe.Recipe, build_inputs: inputs.Inputs, digest: str) -> str:
        """Add the layer of agents and run the check; return the digest of the image."""
        name, epoch = target.name, int(build_inputs.arguments[buildah.EPOCH])
        with self._log(name) as log:
            if build_inputs.agents:
                name = f"{target.name}{_WITH_AGENTS}"
                digest = agents.add(self.image_store, digest, build_inputs.agents, epoch=epoch)
            self._pull(name, digest, log)
            if not (target.is_root_file_system and self.base):
                self._check(target, name, log)
        if build_inputs.agents:
            self.release_space(name)
        return digest

    def options(self, record: store.Record, program: Path) -> bytes:
        """What the programs of a finished image read from configuration files, as JSON."""
        output = self.place.place / "options" / record.name
        self.place.outside(output).mkdir(parents=True)
        self.place.outside(output).chmod(0o1777)
        with self._log(record.name) as log:
            self._pull(record.name, record.digest, log)
            code = self.tools.run_in(
                local_name(record.name),
                ["/bin/sh", "-eu", "-c", f"python {COLLECT_AT} > {OPTIONS_AT}/{record.name}"],
                volumes={program: f"{COLLECT_AT}:ro", output: f"{OPTIONS_AT}:rw"},
                log=log,
                is_offline=True,
            )
            self._expect(code, record.name, "collecting options failed")
        return (self.place.outside(output) / record.name).read_bytes()

    def release_space(self, name: str) -> None:
        """Remove an image that no other image to build needs."""
        # A pull at the same time may rely on layers that both images share.
        with self._pulling, self._log(name) as log:
            if name in self._pulled:
                self.tools.forget(local_name(name), log)
                self._pulled.discard(name)

    def refresh_lists(self, base: store.Record) -> None:
        """Fetch package lists, with the apt of the base image."""
        with self._log(base.name) as log:
            self._pull(base.name, base.digest, log)
            code = self.tools.run_in(
                local_name(base.name),
                ["apt-get", "update", "--quiet"],
                volumes={self.host: f"{hostsettings.MOUNTED_AT}:rw"},
                environment={"APT_CONFIG": str(hostsettings.MOUNTED_AT / "apt.conf")},
                log=log,
            )
            self._expect(code, base.name, "fetching package lists failed")

    def archive_state(self) -> str:
        """A digest of the package lists, which identifies the state of Debian's archive."""
        state = hashlib.sha256()
        for signed in sorted(self.place.outside(self.host / "lists").glob("*_InRelease")):
            state.update(signed.read_bytes())
        return state.hexdigest()

    @property
    def host(self) -> Path:
        """Directory of this machine's settings, mounted in build steps."""
        return self.place.place / "host"

    @property
    def layouts(self) -> Path:
        """Layouts that are being built, under a path that is valid in an image name."""
        return self.place.place / "layouts"

    def _root_file_system(
        self, target: recipe.Recipe, build_inputs: inputs.Inputs, log: IO[bytes]
    ) -> str:
        tar = self.image_store.directory / "tmp" / "rootfs.tar"
        spec = rootfs.BuildSpec(
            options=target.directory / rootfs.OPTIONS,
            epoch=build_inputs.arguments[buildah.EPOCH],
            target=tar,
            authority=hostsettings.find_authority(os.environ),
        )
        code = rootfs.build(spec, self.place, log)
        self._expect(code, target.name, "building the root file system failed")
        layer = self.image_store.add_layer(tar)
        settings = {"Cmd": ["/bin/sh"], "Labels": dict(build_inputs.labels)}
        config = self.image_store.add(
            oci.configuration([layer.digest], settings=settings, created="1970-01-01T00:00:00Z")
        )
        described = oci.Descriptor(media_type=oci.CONFIG, digest=config.digest, size=config.size)
        return self.image_store.add(
            oci.encode(oci.Manifest(config=described, layers=[layer]))
        ).digest

    def _from_containerfile(
        self,
        target: recipe.Recipe,
        build_inputs: inputs.Inputs,
        parents: Mapping[str, store.Record],
        log: IO[bytes],
    ) -> str:
        staged = self.place.place / "contexts" / target.name
        for context, members in build_inputs.contexts.items():
            self._stage(staged / (context or "main"), members)
        contexts = {name: staged / name for name in build_inputs.contexts if name}
        if "host" in target.contexts:
            contexts["host"] = self.host
        temporary = self.place.place / "steps" / target.name
        self.place.outside(temporary).mkdir(parents=True)
        self.place.outside(temporary).chmod(0o1777)
        layout = self.image_store.directory / "tmp" / target.name
        known = [layer for record in parents.values() for layer in record.layers]
        self.image_store.lend(layout, dict.fromkeys(known))
        spec = buildah.BuildSpec(
            containerfile=staged / "main" / recipe.CONTAINERFILE,
            layout=self.layouts / target.name,
            contexts=contexts,
            arguments=build_inputs.arguments,
            labels=build_inputs.labels,
            temporary=temporary,
            may_pull=target.is_root_file_system,
        )
        code = self.tools.build(spec, log)
        self._expect(code, target.name, "a build step failed")
        for used in (staged, temporary):
            shutil.rmtree(self.place.outside(used))
        return self.image_store.adopt(layout)

    def _stage(self, directory: Path, members: Mapping[str, Path]) -> None:
        outside = self.place.outside(directory)
        outside.mkdir(parents=True, exist_ok=True)
        for path, source in members.items():
            (outside / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, outside / path)

    def _check(self, target: recipe.Recipe, image: str, log: IO[bytes]) -> None:
        code = self.tools.run_in(
            local_name(image),
            ["/bin/sh", "-eu", CHECK_AT],
            volumes={
                target.directory / recipe.CHECK: f"{CHECK_AT}:ro",
                target.directory.parent / sources.CHECKS: f"{CHECKS_AT}:ro",
            },
            log=log,
            is_offline=True,
        )
        self._expect(code, target.name, f"{target.directory / recipe.CHECK} failed")

    def _pull(self, name: str, digest: str, log: IO[bytes]) -> None:
        with self._pulling:
            if name in self._pulled:
                return
            layout = self.image_store.directory / "tmp" / f"{name}-pull"
            manifest = self.image_store.manifest(digest)
            parts = [digest, manifest.config.digest, *(layer.digest for layer in manifest.layers)]
            self.image_store.lend(layout, parts)
            self.image_store.write_layout(layout, digest)
            image_id = manifest.config.digest.removeprefix("sha256:")
            code = self.tools.pull(self.layouts / layout.name, image_id, local_name(name), log)
            self._expect(code, name, "reading the built image failed")
            shutil.rmtree(layout)
            self._pulled.add(name)

    def _expect(self, code: int, name: str, what: str) -> None:
        if code:
            path = self._log_path(name)
            raise errors.HostError(
                f"image {name}: {what} (exit code {code})\n{logs.excerpt([path])}",
                hint=f"read {path}",
            )

    @contextmanager
    def _log(self, name: str) -> Iterator[IO[bytes]]:
        with self._log_path(name).open("ab", buffering=0) as log:
            yield log

    def _log_path(self, name: str) -> Path:
        return self.image_store.logs / f"{name.removesuffix(_WITH_AGENTS)}.log"


def local_name(name: str) -> str:
    """The local name of a base image in Containerfiles."""
    return f"{recipe.REGISTRY}/{name}:{_LOCAL_TAG}"


def scratch_directory(image_store: store.Store) -> Path:
    """The scratch directory of a store; buildah does not accept hidden directories in it."""
    own = hashlib.sha256(str(image_store.directory).encode()).hexdigest()[:8]
    return Path("/var/cache/cobaltcore", f"images-{own}")


@contextmanager
def opened(image_store: store.Store, *, base: str = "") -> Iterator[BuildDir]:
    """A build directory, removed at the end; finished images are in the store."""
    directory = scratch_directory(image_store)
    has_overlay = "overlay" in Path("/proc/filesystems").read_text().split()
    shutil.rmtree(image_store.directory / "tmp", ignore_errors=True)
    (image_store.directory / "tmp").mkdir()
    settings = buildah.environment(directory, has_overlay=has_overlay)
    with scratch.opened(directory, settings) as place:
        for folder in ("tmp", "host", "contexts"):
            place.outside(directory / folder).mkdir()
        place.outside(directory / "layouts").symlink_to(image_store.directory / "tmp")
        caches = image_store.directory / "caches"
        caches.mkdir(exist_ok=True)
        # buildah keeps `--mount=type=cache` below its temporary directory.
        place.outside(directory / "tmp" / "buildah-cache").symlink_to(caches)
        hostsettings.write(place.outside(directory / "host"), os.environ, Path.home())
        yield BuildDir(place, image_store, buildah.Buildah(place), base)
    shutil.rmtree(image_store.directory / "tmp", ignore_errors=True)
