import http.server
import json
import threading
from collections.abc import Iterator

import pytest

from tools import check_advisories
from tools.check_advisories import Advisory

KNOWN = Advisory(id="CVE-1", package="Some.Thing", introduced="2.0", fixed="2.1.10")


def complaints(version: str, **changes: str) -> list[str]:
    known = Advisory(
        id=KNOWN.id, package=KNOWN.package, introduced="2.0", fixed="2.1.10", **changes
    )
    return list(check_advisories.complaints({"some-thing": version}, [known]))


@pytest.mark.parametrize("version", ["2.0.0", "2.0", "2.1.9", "2.1"])
def test_an_affected_pin_is_named_with_the_version_that_fixes_it(version: str) -> None:
    assert complaints(version) == [
        f"Some.Thing {version} has CVE-1, fixed in 2.1.10: move the pin"
    ]
    assert complaints(version, accepted="it is off") == []


@pytest.mark.parametrize("version", ["1.9.9", "2.1.10", "2.2", "3"])
def test_other_versions_are_not_affected(version: str) -> None:
    assert complaints(version) == []
    (text,) = complaints(version, accepted="it is off")
    assert text.endswith("does not have CVE-1: remove `accepted` from it")


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An index that knows one package and one vulnerability of it."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = self.path == "/some-thing/2.0/json"
            self.send_response(200 if found else 404)
            self.end_headers()
            vulnerability = {"id": "PYSEC-1", "aliases": ["CVE-1"], "fixed_in": ["2.1"]}
            if found:
                self.wfile.write(json.dumps({"vulnerabilities": [vulnerability]}).encode())

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setattr(check_advisories, "INDEX", f"http://127.0.0.1:{server.server_port}")
    yield
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.usefixtures("index")
def test_what_the_index_knows_and_we_do_not_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    pins = {"some-thing": "2.0", "other": "1.0"}
    assert list(check_advisories.unknown(pins, [])) == [
        "some-thing 2.0 has PYSEC-1, fixed in 2.1: add it to advisories.yaml"
    ]
    assert list(check_advisories.unknown(pins, [KNOWN])) == []
    assert "no answer for 1/2 packages" in capsys.readouterr().err


def test_an_index_that_does_not_respond_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_advisories, "INDEX", "http://127.0.0.1:9")
    assert list(check_advisories.unknown({"some-thing": "2.0"}, [])) == []


def test_every_pin_is_free_of_what_is_known_or_the_reason_is_written_down() -> None:
    assert check_advisories.main([]) == 0
