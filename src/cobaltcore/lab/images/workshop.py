"""Makes images one at a time, each in a container of its own, within one scratch place."""

import hashlib
import os
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from cobaltcore.lab import errors, logs
from cobaltcore.lab.images import (
    buildah,
    hostsettings,
    inputs,
    oci,
    recipe,
    rootfs,
    scratch,
    sources,
    store,
)

CHECK_AT = "/run/check"
CHECKS_AT = "/run/checks"
_LOCAL_TAG = "latest"


@dataclass(slots=True)
class Workshop:
    """A scratch place with buildah in it, and the store that finished images go to."""

    place: scratch.Scratch
    kept: store.Store
    tools: buildah.Buildah
    base: str = ""
    _pulled: set[str] = field(default_factory=set)
    _pulling: threading.Lock = field(default_factory=threading.Lock)

    def make(
        self, made: recipe.Recipe, given: inputs.Inputs, parents: Mapping[str, store.Record]
    ) -> str:
        """Build an image and start its program; return its digest."""
        with self._log(made.name) as log:
            for name, record in parents.items():
                self._pull(name, record.digest, log)
            if made.is_root_file_system and not self.base:
                digest = self._root_file_system(made, given, log)
            else:
                digest = self._from_containerfile(made, given, parents, log)
            self._pull(made.name, digest, log)
            if not (made.is_root_file_system and self.base):
                self._check(made, log)
        return digest

    def release_space(self, name: str) -> None:
        """Nothing will stand on this image any more."""
        with self._log(name) as log:
            self.tools.forget(local_name(name), log)
            self._pulled.discard(name)

    def refresh_lists(self, base: store.Record) -> None:
        """Fetch package lists, with the apt of the base image."""
        with self._log(base.name) as log:
            self._pull(base.name, base.digest, log)
            code = self.tools.run_in(
                local_name(base.name),
                ["apt-get", "update", "--quiet"],
                volumes={self.host: f"{hostsettings.SEEN_AT}:rw"},
                environment={"APT_CONFIG": str(hostsettings.SEEN_AT / "apt.conf")},
                log=log,
            )
            self._expect(code, base.name, "package lists cannot be fetched")

    def archive_state(self) -> str:
        """A name for the state of Debian's archive that the package lists show."""
        state = hashlib.sha256()
        for signed in sorted(self.place.outside(self.host / "lists").glob("*_InRelease")):
            state.update(signed.read_bytes())
        return state.hexdigest()

    @property
    def host(self) -> Path:
        """This machine's settings, for build steps."""
        return self.place.place / "host"

    @property
    def layouts(self) -> Path:
        """Layouts under construction, under a path that buildah can make a name of."""
        return self.place.place / "layouts"

    def _root_file_system(self, made: recipe.Recipe, given: inputs.Inputs, log: IO[bytes]) -> str:
        tar = self.kept.directory / "tmp" / "rootfs.tar"
        order = rootfs.Order(
            options=made.directory / rootfs.OPTIONS,
            epoch=given.arguments[buildah.EPOCH],
            target=tar,
            authority=hostsettings.find_authority(os.environ),
        )
        code = rootfs.build(order, self.place, log)
        self._expect(code, made.name, "the root file system cannot be made")
        layer = self.kept.add_layer(tar)
        settings = {"Cmd": ["/bin/sh"], "Labels": dict(given.labels)}
        config = self.kept.add(
            oci.configuration([layer.digest], settings=settings, created="1970-01-01T00:00:00Z")
        )
        described = oci.Descriptor(media_type=oci.CONFIG, digest=config.digest, size=config.size)
        return self.kept.add(oci.encode(oci.Manifest(config=described, layers=[layer]))).digest

    def _from_containerfile(
        self,
        made: recipe.Recipe,
        given: inputs.Inputs,
        parents: Mapping[str, store.Record],
        log: IO[bytes],
    ) -> str:
        staged = self.place.place / "contexts" / made.name
        for context, members in given.contexts.items():
            self._stage(staged / (context or "main"), members)
        contexts = {name: staged / name for name in given.contexts if name}
        if "host" in made.contexts:
            contexts["host"] = self.host
        temporary = self.place.place / "steps" / made.name
        self.place.outside(temporary).mkdir(parents=True)
        self.place.outside(temporary).chmod(0o1777)
        layout = self.kept.directory / "tmp" / made.name
        known = [layer for record in parents.values() for layer in record.layers]
        self.kept.lend(layout, dict.fromkeys(known))
        order = buildah.Order(
            containerfile=staged / "main" / recipe.CONTAINERFILE,
            layout=self.layouts / made.name,
            contexts=contexts,
            arguments=given.arguments,
            labels=given.labels,
            temporary=temporary,
            may_pull=made.is_root_file_system,
        )
        code = self.tools.build(order, log)
        self._expect(code, made.name, "a build step failed")
        for used in (staged, temporary):
            shutil.rmtree(self.place.outside(used))
        return self.kept.adopt(layout)

    def _stage(self, directory: Path, members: Mapping[str, Path]) -> None:
        outside = self.place.outside(directory)
        outside.mkdir(parents=True, exist_ok=True)
        for path, source in members.items():
            (outside / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, outside / path)

    def _check(self, made: recipe.Recipe, log: IO[bytes]) -> None:
        code = self.tools.run_in(
            local_name(made.name),
            ["/bin/sh", "-eu", CHECK_AT],
            volumes={
                made.directory / recipe.CHECK: f"{CHECK_AT}:ro",
                made.directory.parent / sources.CHECKS: f"{CHECKS_AT}:ro",
            },
            log=log,
            is_offline=True,
        )
        self._expect(code, made.name, f"{made.directory / recipe.CHECK} failed")

    def _pull(self, name: str, digest: str, log: IO[bytes]) -> None:
        with self._pulling:
            if name in self._pulled:
                return
            layout = self.kept.directory / "tmp" / f"{name}-pull"
            manifest = self.kept.manifest(digest)
            parts = [digest, manifest.config.digest, *(layer.digest for layer in manifest.layers)]
            self.kept.lend(layout, parts)
            self.kept.write_layout(layout, digest)
            image_id = manifest.config.digest.removeprefix("sha256:")
            code = self.tools.pull(self.layouts / layout.name, image_id, local_name(name), log)
            self._expect(code, name, "it cannot be read back")
            shutil.rmtree(layout)
            self._pulled.add(name)

    def _expect(self, code: int, name: str, what: str) -> None:
        if code:
            path = self._log_path(name)
            raise errors.LabError(
                f"image {name}: {what} (exit code {code})\n{logs.excerpt([path])}",
                hint=f"read {path}",
            )

    @contextmanager
    def _log(self, name: str) -> Iterator[IO[bytes]]:
        with self._log_path(name).open("ab", buffering=0) as log:
            yield log

    def _log_path(self, name: str) -> Path:
        return self.kept.logs / f"{name}.log"


def local_name(name: str) -> str:
    """The name under which Containerfiles find an image that was built before."""
    return f"{recipe.REGISTRY}/{name}:{_LOCAL_TAG}"


def scratch_directory(kept: store.Store) -> Path:
    """A place for the builds of a store: buildah makes names of paths, so no part is hidden."""
    own = hashlib.sha256(str(kept.directory).encode()).hexdigest()[:8]
    return Path("/var/cache/cobaltcore", f"images-{own}")


@contextmanager
def opened(kept: store.Store, *, base: str = "") -> Iterator[Workshop]:
    """A workshop; nothing but finished images is left of it."""
    directory = scratch_directory(kept)
    has_overlay = "overlay" in Path("/proc/filesystems").read_text().split()
    shutil.rmtree(kept.directory / "tmp", ignore_errors=True)
    (kept.directory / "tmp").mkdir()
    settings = buildah.environment(directory, has_overlay=has_overlay)
    with scratch.opened(directory, settings) as place:
        for folder in ("tmp", "host", "contexts"):
            place.outside(directory / folder).mkdir()
        place.outside(directory / "layouts").symlink_to(kept.directory / "tmp")
        caches = kept.directory / "caches"
        caches.mkdir(exist_ok=True)
        # buildah keeps `--mount=type=cache` below its temporary directory.
        place.outside(directory / "tmp" / "buildah-cache").symlink_to(caches)
        hostsettings.write(place.outside(directory / "host"), os.environ, Path.home())
        yield Workshop(place, kept, buildah.Buildah(place), base)
    shutil.rmtree(kept.directory / "tmp", ignore_errors=True)
