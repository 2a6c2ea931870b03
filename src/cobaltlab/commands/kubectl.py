"""`cobalt kubectl`: kubectl against a lab, with that lab's release of it, or any other cluster."""

import argparse
import os
import shutil
from pathlib import Path

from cobaltcore.cli import connecting
from cobaltimages import cache
from cobaltlab import clusters, commandline, errors

HELP = "run kubectl against the lab or another cluster; arguments are passed through"
OWN_FLAGS = commandline.CLUSTER_FLAGS


def configure(parser: argparse.ArgumentParser) -> None:
    commandline.add_passed_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Replace this process, so that signals, terminal and exit code are those of kubectl."""
    config = connecting.file_of(arguments)
    environment = {**os.environ, **({"KUBECONFIG": str(config)} if config else {})}
    context = [f"--context={arguments.context}"] if arguments.context else []
    words = ["kubectl", *context, *commandline.passed_arguments(arguments)]
    os.execve(program(arguments), words, environment)  # noqa: S606 no shell


def program(arguments: argparse.Namespace) -> Path:
    """That of the lab; for other clusters that of the machine, or the newest that was built."""
    lab = clusters.chosen(arguments)
    if lab is not None:
        return lab.programs / "kubectl"
    found = shutil.which("kubectl")
    built = sorted(
        cache.cache_directory().glob("kube/*/kubectl"), key=lambda each: each.stat().st_mtime
    )
    if found is None and not built:
        raise errors.LabError("kubectl is not installed", hint="install it, or run once: make up")
    return Path(found) if found else built[-1]
