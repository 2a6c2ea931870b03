"""How a server of an OVN database starts: it creates the cluster, joins it, or keeps its data."""

from pathlib import Path

import pytest

from cobaltcore.agents.ovn import database

HOSTS = [f"nb-{number}.nb.net.svc.cluster.local" for number in range(3)]
# Fakes Open vSwitch's tools: logs its arguments, and writes the address into the database's file.
TOOL = """#!/bin/sh
echo "$@" >> "$LOG"
for word; do case $word in --*) shift;; *) break;; esac; done
case $1 in
    create-cluster) echo "$4" > "$2";;
    join-cluster) echo "$4" > "$2";;
    cluster-to-standalone) echo plain > "$2";;
    db-local-address) cat "$2";;
esac
"""
CLIENT = '#!/bin/sh\n[ -e "$SERVED" ] && echo OVN_Northbound\nexit 0\n'


class Server:
    """One server with a volume in a directory of the test."""

    def __init__(self, directory: Path, patch: pytest.MonkeyPatch) -> None:
        self.directory = directory
        self.patch = patch
        self.served = directory / "served"
        self.log = directory / "log"
        programs = directory / "bin"
        programs.mkdir()
        for name, text in (("ovsdb-tool", TOOL), ("ovsdb-client", CLIENT)):
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        patch.setenv("PATH", f"{programs}:/usr/bin:/bin")
        patch.setenv("LOG", str(self.log))
        patch.setenv("SERVED", str(self.served))
        patch.setenv("OVN_DATABASE", "OVN_Northbound")
        patch.setenv("OVN_SCHEMA", "schema")
        patch.setenv("OVN_PORT", "6641")
        patch.setenv("OVN_RAFT_PORT", "6643")
        patch.setattr(database, "DATA", directory)
        patch.setattr(database, "FILE", directory / "database.db")
        patch.setattr(database, "NEW", directory / "database.new")
        patch.setattr("os.execvp", lambda program, words: None)

    def start(self, number: int, *, servers: int = 3, protocol: str = "tcp") -> list[str]:
        """Start it and return what its tool was asked to do."""
        self.log.unlink(missing_ok=True)
        self.patch.setenv("OVN_SERVERS", ",".join(HOSTS[:servers]))
        self.patch.setenv("OVN_PROTOCOL", protocol)
        self.patch.setattr("socket.gethostname", lambda: f"nb-{number}")
        database.main([])
        lines = self.log.read_text().splitlines()
        words = [word for line in lines for word in line.split() if not word.startswith("-")]
        return [word for word in words if word.endswith(("-cluster", "-standalone"))]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    return Server(tmp_path, monkeypatch)


def test_the_first_server_creates_the_cluster(server: Server) -> None:
    assert server.start(0) == ["create-cluster"]


def test_other_servers_join(server: Server) -> None:
    assert server.start(2) == ["join-cluster"]


def test_a_server_that_has_data_starts_with_it(server: Server) -> None:
    server.start(0)
    assert server.start(0) == []


def test_a_first_server_that_lost_its_volume_joins_the_others(server: Server) -> None:
    server.served.touch()
    assert server.start(0) == ["join-cluster"]


def test_what_a_crash_left_unfinished_is_created_again(server: Server) -> None:
    (server.directory / "database.new").write_text("half")
    assert server.start(0) == ["create-cluster"]
    assert not (server.directory / "database.new").exists()


def test_a_server_that_is_alone_may_get_another_address(server: Server) -> None:
    server.start(0, servers=1)
    ran = server.start(0, servers=1, protocol="ssl")
    assert ran == ["cluster-to-standalone", "create-cluster"]
    assert (server.directory / "database.db").read_text().startswith("ssl:")
    assert server.start(0, servers=1, protocol="ssl") == []


def test_a_server_among_others_keeps_its_address(server: Server) -> None:
    server.start(0)
    with pytest.raises(SystemExit, match="give it back its address"):
        server.start(0, protocol="ssl")


def test_a_pod_that_is_none_of_the_servers_fails(server: Server) -> None:
    with pytest.raises(SystemExit, match="nb-7 is none of the servers"):
        server.start(7)
