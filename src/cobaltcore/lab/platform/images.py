"""Images that a stage of `cobalt up` needs: built or reused, named by digest.

A name by digest changes with the image, so that what was rebuilt is rolled out.
"""

import shutil
from collections.abc import Iterable
from pathlib import Path

from cobaltcore.api import release
from cobaltcore.lab import packages, phases, record
from cobaltcore.lab.images import build, buildah, recipe, sources


def ensure(
    instance: record.Instance,
    names: Iterable[str],
    *,
    shown: phases.Phases,
    install_packages: bool = False,
) -> dict[str, str]:
    """Bring images up to date where the instance pulls from; return their references by name."""
    wanted = sorted(names)
    missing = [program for program in buildah.PROGRAMS if not shutil.which(program)]
    if missing and install_packages:
        with shown.phase("packages") as phase:
            packages.install(buildah.PACKAGES, report=phase.detail)
    wishes = build.Wishes(release=release.DEFAULT, names=wanted)
    result = build.build(sources.find(), Path(instance.images), wishes, shown)
    return {name: f"{recipe.REGISTRY}/{name}@{result.records[name].digest}" for name in wanted}
