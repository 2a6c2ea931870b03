"""What `cobalt logs` asks for, and how lines of several containers become one log."""

import argparse

import pytest

from cobaltcore.cli import podlogs
from cobaltcore.cli.commands import logs
from cobaltcore.runtime.meta import Key

RUNNING = {"state": {"running": {}}, "containerID": "containerd://1"}


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    logs.configure(parser)
    return parser.parse_args(["keystone", *words])


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ([], {"tailLines": "200"}),
        (["--tail", "5"], {"tailLines": "5"}),
        (["--tail", "-1"], {}),
        (["--since", "2h"], {"sinceSeconds": "7200"}),
        (["--since", "5m", "--tail", "9"], {"sinceSeconds": "300", "tailLines": "9"}),
        (["-p"], {"tailLines": "200", "previous": "true"}),
    ],
)
def test_what_is_read_of_each_log(words: list[str], options: dict[str, str]) -> None:
    assert logs.options(parsed(*words)) == options


@pytest.mark.parametrize("words", [["--since", "5"], ["--since", "0s"], ["--tail", "-2"]])
def test_what_is_no_duration_or_number_is_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit):
        parsed(*words)


def test_containers_that_have_started_and_those_that_ended_before() -> None:
    waiting = {"name": "late", "state": {"waiting": {}}, "restartCount": 0}
    crashing = {"name": "again", "state": {"waiting": {}}, "restartCount": 2}
    status = {"containerStatuses": [{"name": "api", **RUNNING}, waiting, crashing]}
    pod = {"metadata": {"namespace": "openstack", "name": "keystone-1"}, "status": status}
    key = Key("openstack", "keystone-1")
    assert list(podlogs.sources([pod])) == [(key, "api")]
    assert list(podlogs.sources([pod], previous=True)) == [(key, "again")]


def test_a_line_has_its_time_apart_from_its_text() -> None:
    source = podlogs.Source(Key("openstack", "keystone-1"), "api")
    found = podlogs.line(source, b"2026-01-01T00:00:00.000000001Z GET /v3 200")
    assert (found.at, found.text) == ("2026-01-01T00:00:00.000000001Z", "GET /v3 200")
