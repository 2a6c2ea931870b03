"""What `cobalt openrc` prints and writes."""

import subprocess
from pathlib import Path

import pytest

from cobaltcore.cli import errors
from cobaltcore.cli.cloudlogin import Cloud
from cobaltcore.cli.commands import openrc
from cobaltcore.engine.desired.clouds import Login

PASSWORD = "p'a$s \"word`"
LOGIN = Login(
    auth_url="https://keystone.example:5000/v3",
    username="admin",
    password=PASSWORD,
    project="admin",
    region="RegionOne",
    ca_bundle="a certificate",
)


def test_a_shell_reads_the_exports_and_forgets_another_cloud() -> None:
    script = "\n".join(openrc.exports(LOGIN, "/tmp/ca.crt"))
    show = 'printf "%s|%s|%s" "$OS_PASSWORD" "$OS_CACERT" "$OS_CLOUD"'
    done = subprocess.run(
        ["sh", "-c", f"OS_CLOUD=other\n{script}\n{show}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == f"{PASSWORD}|/tmp/ca.crt|"


def test_a_file_is_for_its_owner_only_and_may_be_written_again(tmp_path: Path) -> None:
    file = tmp_path / "new" / "clouds.yaml"
    for text in (f"{openrc.MARK}\none\n", f"{openrc.MARK}\ntwo\n"):
        openrc._write(file, text)
        assert file.stat().st_mode & 0o777 == 0o600
        assert file.read_text() == text


def test_a_file_of_others_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "clouds.yaml"
    file.write_text("clouds: {}\n")
    with pytest.raises(errors.CommandError, match="was not written by `cobalt openrc`"):
        openrc._write(file, f"{openrc.MARK}\n")
    assert file.read_text() == "clouds: {}\n"


def test_names_that_do_not_resolve_are_listed_with_their_addresses() -> None:
    addresses = {"localhost": "127.0.0.1", "keystone.openstack.svc.cluster.local": "100.65.0.7"}
    text = "\n".join(openrc.notes(Cloud("openstack", LOGIN, addresses)))
    assert "100.65.0.7 keystone.openstack.svc.cluster.local" in text
    assert "localhost" not in text
