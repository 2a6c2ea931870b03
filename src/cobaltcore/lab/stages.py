"""What `cobalt up` does, stage after stage; each stands on those before it.

A stage has images that it needs, which are there before the cluster is, and a function that
returns when its part stands, with what it has to show if that is something.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from cobaltcore.lab import cluster, home, phases, record
from cobaltcore.lab.cloud import stage as cloud
from cobaltcore.lab.platform import images
from cobaltcore.lab.platform import stage as platform


@dataclass(frozen=True, slots=True)
class Scene:
    """A lab whose cluster stands."""

    place: home.Home
    instance: record.Instance
    references: Mapping[str, str]
    """The images of all stages, by name."""
    shown: phases.Phases


@dataclass(frozen=True, slots=True)
class Stage:
    """One step from a cluster to a cloud."""

    bring_up: Callable[[Scene], str]
    images: Callable[[record.Instance], Iterable[str]] = lambda _: ()


def _operators(scene: Scene) -> str:
    platform.bring_up(scene.place, scene.instance, scene.references, shown=scene.shown)
    return ""


def _cloud(scene: Scene) -> str:
    cloud.cloud(scene.place, scene.references, shown=scene.shown)
    return ""


def _demo(scene: Scene) -> str:
    return cloud.demo(scene.place, scene.instance, shown=scene.shown)


CLUSTER = "cluster"
STAGES: Mapping[str, Stage] = {
    "operators": Stage(_operators, lambda found: platform.needed_images(dev=found.dev)),
    "cloud": Stage(_cloud, lambda _: cloud.CLOUD_IMAGES),
    "demo": Stage(_demo),
}
"""After the cluster, in order."""
NAMES = (CLUSTER, *STAGES)


def up(
    place: home.Home,
    wishes: cluster.Wishes,
    *,
    until: str,
    shown: phases.Phases,
    environment: Mapping[str, str],
) -> cluster.Result:
    """Go through the stages until the named one stands."""
    stages = [STAGES[name] for name in NAMES[1 : NAMES.index(until) + 1]]
    references: dict[str, str] = {}

    def prepare(instance: record.Instance) -> None:
        if names := {name for stage in stages for name in stage.images(instance)}:
            may_install = wishes.install_packages
            references.update(
                images.ensure(place, instance, names, shown=shown, install_packages=may_install)
            )

    result = cluster.up(place, wishes, shown=shown, environment=environment, prepare=prepare)
    scene = Scene(place, place.existing(), references, shown)
    outcome = ""
    with place.locked():
        for stage in stages:
            outcome = stage.bring_up(scene)
    seconds = {**shown.seconds, "total": round(shown.total, 3)}
    return replace(result, seconds=seconds, outcome=outcome)
