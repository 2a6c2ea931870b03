"""The OpenStack client of this machine, as `cobalt openstack` and `cobalt console` start it."""

import argparse
import json
import socket
from pathlib import Path

import pytest
import yaml

from cobaltcore.cli import main
from cobaltcore.cli.cloudlogin import Cloud
from cobaltcore.engine.desired.clouds import Login
from cobaltlab import openstack, osclient
from cobaltlab.agents import client
from cobaltlab.commands import console

PASSWORD = "p'a$s: word"
LOGIN = Login(
    auth_url="https://keystone.openstack.svc.cluster.local:5000/v3",
    username="admin",
    password=PASSWORD,
    project="admin",
    region="RegionOne",
    ca_bundle="the certificate",
)


def test_a_login_is_in_memory_and_neither_in_the_environment_nor_in_a_file() -> None:
    found = openstack._login(Cloud("openstack", LOGIN, {}))
    assert PASSWORD not in str(found)
    path = Path(found["OS_CLIENT_CONFIG_FILE"])
    assert "memfd:" in str(path.readlink())
    assert path.stat().st_mode & 0o777 == 0o600
    entry = yaml.safe_load(path.read_text())["clouds"][found["OS_CLOUD"]]
    assert entry["auth"]["password"] == PASSWORD
    assert Path(entry["cacert"]).read_text() == "the certificate"


def test_a_login_of_the_user_is_not_mixed_in() -> None:
    mine = {"OS_PASSWORD": "x", "OS_CLOUD": "y", "OS_COMPUTE_API_VERSION": "2.74", "HOME": "/root"}
    kept = openstack._own(mine)
    assert kept == {"OS_COMPUTE_API_VERSION": "2.74", "HOME": "/root"}


def test_names_resolve_to_the_addresses_of_the_cloud(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", socket.getaddrinfo)
    client.resolve_with({"keystone.openstack.svc.cluster.local": "127.0.0.9"})
    found = socket.getaddrinfo("keystone.openstack.svc.cluster.local", 5000)
    assert {each[4] for each in found} == {("127.0.0.9", 5000)}
    assert socket.getaddrinfo("127.0.0.1", 80)[0][4] == ("127.0.0.1", 80)


def test_the_client_is_installed_with_hashes_only() -> None:
    other = "other==1.0 \\\n    --hash=sha256:aa\n"
    pins = [f"{name}==8.2.0 \\\n    --hash=sha256:bb\n" for name in osclient.PACKAGES]
    assert osclient.requirements([f"# head\n{other}{pins[0]}", pins[1]]) == "".join(pins)


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (["web"], "console log show -- web"),
        (["web", "--lines", "5"], "console log show --lines 5 -- web"),
        (["web", "--url"], "console url show --novnc -f value -c url -- web"),
    ],
)
def test_a_console_is_asked_for(typed: list[str], words: str) -> None:
    parser = argparse.ArgumentParser()
    console.configure(parser)
    assert console.words(parser.parse_args(typed)) == words.split()


@pytest.mark.parametrize(
    ("typed", "passed"),
    [
        (["--name", "b", "server", "list"], ["server", "list"]),
        (["-n", "team", "image", "create", "--file", "x"], ["image", "create", "--file", "x"]),
        (["--kubeconfig=f", "--context", "c", "-h"], ["-h"]),
    ],
)
def test_options_that_choose_a_cloud_come_first(typed: list[str], passed: list[str]) -> None:
    known = main.commands("openstack")
    own = known["openstack"].OWN_FLAGS  # type: ignore[attr-defined]
    words = main._shielded(["openstack", *typed], own)
    arguments = main.parser(known).parse_args(words)
    assert arguments.arguments[1:] == passed


def test_addresses_are_json() -> None:
    file = openstack._in_memory("addresses", json.dumps({"a": "1.2.3.4"}))
    assert json.loads(Path(file).read_text()) == {"a": "1.2.3.4"}
