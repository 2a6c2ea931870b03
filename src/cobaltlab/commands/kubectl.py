"""`cobalt kubectl`: kubectl of the lab's Kubernetes release, with its admin kubeconfig."""

import argparse

from cobaltlab import commandline

HELP = "run kubectl against the lab; arguments are passed through"
OWN_FLAGS = ("--name",)


def configure(parser: argparse.ArgumentParser) -> None:
    commandline.add_passed_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    commandline.exec_kubectl(arguments, *commandline.passed_arguments(arguments))
