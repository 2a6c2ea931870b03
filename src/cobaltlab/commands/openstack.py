"""`cobalt openstack`: the OpenStack client on this machine, as administrator of a cloud."""

import argparse

from cobaltlab import commandline, openstack

HELP = "run openstack against the cloud of the lab or of a cluster; arguments are passed through"
OWN_FLAGS = (*commandline.CLUSTER_FLAGS, "-n", "--namespace")


def configure(parser: argparse.ArgumentParser) -> None:
    commandline.add_passed_arguments(parser)
    commandline.add_cloud(parser)


def run(arguments: argparse.Namespace) -> int:
    openstack.execute(arguments, commandline.passed_arguments(arguments))
