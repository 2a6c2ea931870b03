"""`cobalt logs`: the logs of all pods of a service, merged by time."""

import argparse
import re
from datetime import UTC, datetime

import uvloop

from cobaltcore.api.foreign.kubernetes import POD
from cobaltcore.cli import connecting, errors, listing, output, podlogs
from cobaltcore.engine.desired import names
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Object, WatchScope
from cobaltcore.runtime.timestamps import timestamp

HELP = "print the logs of all pods of a service, by time"
OURS = f"app.kubernetes.io/part-of={names.PART_OF}"
TAIL = 200
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"(\d+)([smhd])")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "service",
        metavar="SERVICE[/COMPONENT]",
        help="for example keystone, nova, nova/conductor, ovn, mariadb",
    )
    connecting.configure(parser, namespace="default: that with pods of the service")
    parser.add_argument("-f", "--follow", action="store_true", help="until interrupted")
    parser.add_argument(
        "--tail",
        type=_count,
        metavar="LINES",
        help=f"the last lines of each container, -1: all (default: {TAIL}; all with --since)",
    )
    parser.add_argument(
        "--since", type=seconds, metavar="DURATION", help="not older than, such as 30s, 5m, 2h"
    )
    how = parser.add_argument_group("lines")
    how.add_argument("-p", "--previous", action="store_true", help="of containers that ended")
    how.add_argument("--timestamps", action="store_true", help="with the time of each line")


def run(arguments: argparse.Namespace) -> int:
    if arguments.follow and arguments.previous:
        raise errors.CommandError("containers that ended cannot be followed: omit -f or -p")
    return uvloop.run(_run(arguments))


def seconds(text: str) -> int:
    """A duration as seconds."""
    found = _DURATION.fullmatch(text)
    if not found or not int(found[1]):
        raise argparse.ArgumentTypeError(f'"{text}" is not a duration such as 30s, 5m, 2h, 1d')
    return int(found[1]) * _UNITS[found[2]]


def options(arguments: argparse.Namespace) -> dict[str, str]:
    """What is read of each log."""
    tail = arguments.tail
    if tail is None:
        tail = -1 if arguments.since else TAIL
    chosen = {"tailLines": str(tail)} if tail >= 0 else {}
    chosen |= {"sinceSeconds": str(arguments.since)} if arguments.since else {}
    return chosen | ({"previous": "true"} if arguments.previous else {})


async def _run(arguments: argparse.Namespace) -> int:
    def show(line: podlogs.Line) -> None:
        moment = f"{line.at} " if arguments.timestamps else ""
        output.data(f"{moment}{line.source.pod.name}/{line.source.container}  {line.text}")

    start = timestamp(datetime.now(UTC))
    async with connecting.connected(arguments) as client:
        scope, pods = await _pods(client, arguments.service, arguments.namespace)
        wanted = podlogs.sources(pods, previous=arguments.previous)
        lines, missing = await podlogs.read(client, wanted, options(arguments))
        for each in missing:
            output.note(f"not read: {each}")
        for line in lines:
            show(line)
        if arguments.follow:
            follower = podlogs.Follower(client, scope, show)
            follower.seen(lines)
            await follower.run(start)
    return 0


async def _pods(client: Client, service: str, namespace: str) -> tuple[WatchScope, list[Object]]:
    """The pods of a service, and how they are found."""
    name, _, component = service.partition("/")
    wanted = names.NAME + f"={name}" + (f",{names.COMPONENT}={component}" if component else "")
    found = await listing.objects(client, POD, WatchScope(namespace, wanted))
    spaces = sorted({each["metadata"]["namespace"] for each in found})
    if len(spaces) == 1:
        return WatchScope(spaces[0], wanted), found
    place = f" in namespace {namespace!r}" if namespace else ""
    if spaces:
        raise errors.CommandError(
            f"there are pods of {service!r} in {len(spaces)} namespaces",
            hint=f"choose one with --namespace: {', '.join(spaces)}",
        )
    raise errors.CommandError(
        f"there are no pods of {service!r}{place}", hint=await _known(client, namespace)
    )


async def _known(client: Client, namespace: str) -> str:
    found = await listing.objects(client, POD, WatchScope(namespace, OURS))
    labels = [each["metadata"].get("labels") or {} for each in found]
    known = sorted({f"{each.get(names.NAME)}/{each.get(names.COMPONENT, '')}" for each in labels})
    shown = ", ".join(each.rstrip("/") for each in known)
    return f"services with pods: {shown}" if known else "see what there is: cobalt status"


def _count(text: str) -> int:
    if not re.fullmatch(r"-1|\d+", text):
        raise argparse.ArgumentTypeError(f'"{text}" is not a number of lines')
    return int(text)
