"""The steps of `cobalt up` after the cluster, in order; each builds on those before it.

A step names the images that it needs, which are available before the cluster starts, and returns
when its part is ready. Steps are idempotent: a second `cobalt up` changes nothing.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from cobaltcore.cli import phases
from cobaltlab import cluster, record, statedir
from cobaltlab.cloud import demo, deploy
from cobaltlab.platform import images, install


@dataclass(frozen=True, slots=True)
class Context:
    """A lab whose cluster is up."""

    state_dir: statedir.StateDir
    instance: record.Instance
    references: Mapping[str, str]
    """The images of all steps, by name."""
    progress: phases.Phases


@dataclass(frozen=True, slots=True)
class Step:
    """One value of `cobalt up --until`."""

    run: Callable[[Context], str]
    """Returns a summary for the user, or nothing."""
    images: Callable[[record.Instance], Iterable[str]] = lambda _: ()


def _operators(context: Context) -> str:
    install.install(
        context.state_dir, context.instance, context.references, progress=context.progress
    )
    return ""


def _cloud(context: Context) -> str:
    deploy.deploy(context.state_dir, context.references, progress=context.progress)
    return ""


def _demo(context: Context) -> str:
    return demo.run(context.state_dir, context.instance, progress=context.progress)


CLUSTER = "cluster"
STEPS: Mapping[str, Step] = {
    "operators": Step(_operators, lambda instance: install.needed_images(dev=instance.dev)),
    "cloud": Step(_cloud, lambda _: deploy.IMAGES),
    "demo": Step(_demo),
}
NAMES = (CLUSTER, *STEPS)


def up(
    state_dir: statedir.StateDir,
    options: cluster.UpOptions,
    *,
    until: str,
    progress: phases.Phases,
    environment: Mapping[str, str],
) -> cluster.Result:
    """Run all steps up to and including the named one."""
    steps = [STEPS[name] for name in NAMES[1 : NAMES.index(until) + 1]]
    references: dict[str, str] = {}

    def prepare_images(instance: record.Instance) -> None:
        if names := {name for step in steps for name in step.images(instance)}:
            references.update(
                images.ensure(
                    state_dir,
                    instance,
                    names,
                    progress=progress,
                    install_packages=options.install_packages,
                )
            )

    result = cluster.up(
        state_dir,
        options,
        progress=progress,
        environment=environment,
        before_start=prepare_images,
    )
    context = Context(state_dir, state_dir.require_record(), references, progress)
    summary = ""
    with state_dir.locked():
        for step in steps:
            summary = step.run(context)
    seconds = {**progress.seconds, "total": round(progress.total, 3)}
    return replace(result, seconds=seconds, outcome=summary)
