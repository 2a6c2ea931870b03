"""What `cobalt up` does, stage after stage; each stands on those before it.

A stage is a function that gets the scene and returns when its part stands, with what it has to show
if that is something. To add one, write the function and name it in STAGES.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from cobaltcore.lab import cluster, home, phases, record
from cobaltcore.lab.cloud import stage
from cobaltcore.lab.platform import stage as platform


@dataclass(frozen=True, slots=True)
class Scene:
    """A lab whose cluster stands."""

    place: home.Home
    instance: record.Instance
    wishes: cluster.Wishes
    shown: phases.Phases
    environment: Mapping[str, str]


Stage = Callable[[Scene], str]


def _operators(scene: Scene) -> str:
    platform.bring_up(
        scene.place,
        scene.instance,
        shown=scene.shown,
        install_packages=scene.wishes.install_packages,
    )
    return ""


def _cloud(scene: Scene) -> str:
    stage.cloud(
        scene.place,
        scene.instance,
        shown=scene.shown,
        install_packages=scene.wishes.install_packages,
    )
    return ""


def _demo(scene: Scene) -> str:
    return stage.demo(scene.place, scene.instance, shown=scene.shown)


CLUSTER = "cluster"
STAGES: Mapping[str, Stage] = {"operators": _operators, "cloud": _cloud, "demo": _demo}
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
    result = cluster.up(place, wishes, shown=shown, environment=environment)
    scene = Scene(place, place.existing(), wishes, shown, environment)
    outcome = ""
    with place.locked():
        for name in NAMES[1 : NAMES.index(until) + 1]:
            outcome = STAGES[name](scene)
    seconds = {**shown.seconds, "total": round(shown.total, 3)}
    return replace(result, seconds=seconds, outcome=outcome)
