"""Objects as requests to Ceph."""

import base64
import struct
from datetime import UTC, datetime

import pytest

from cobaltcore.api.foreign.rook import (
    CephBlockPoolSpec,
    CephClientSpec,
    ErasureCoded,
    Quotas,
    Replicated,
)
from cobaltlab.ceph import commands, config, identity, keys, poolspec, userspec
from cobaltlab.ceph.commands import Response, Result

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def a_pool(**fields: object) -> CephBlockPoolSpec:
    return CephBlockPoolSpec(replicated=Replicated(size=1), **fields)  # type: ignore[arg-type]


def test_a_key_has_the_form_that_ceph_expects() -> None:
    decoded = base64.b64decode(keys.generate(NOW))
    kind, seconds, nanoseconds, length = struct.unpack("<HIIH", decoded[:12])
    assert (kind, seconds, nanoseconds, length) == (1, int(NOW.timestamp()), 0, 16)
    assert len(decoded) == 28
    assert keys.generate(NOW) != keys.generate(NOW)


def test_an_identity_reads_back_and_does_not_show_its_keys() -> None:
    created = identity.new(NOW)
    desired = identity.secret(created, "rook-ceph")
    assert desired.once
    assert identity.read(dict(desired.body)) == created
    assert created.admin not in repr(created)


def test_the_monitor_knows_everyone_and_others_only_themselves() -> None:
    created = identity.new(NOW)
    found = {
        each.key.name: base64.b64decode(each.body["data"]["keyring"]).decode()
        for each in identity.keyrings(created, "rook-ceph")
    }
    assert all(
        key in found["rook-ceph-mons-keyring"] for key in (created.mon, created.mgr, created.admin)
    )
    assert created.admin not in found["rook-ceph-mgr-a-keyring"] + found["rook-ceph-osd-keyring"]
    assert found["rook-ceph-osd-keyring"] == (
        f"[client.bootstrap-osd]\n\tkey = {created.bootstrap_osd}\n"
        '\tcaps mon = "allow profile bootstrap-osd"\n'
    )


def test_settings_are_written_by_section() -> None:
    assert config.render({"global": {"a": "1", "b": ""}, "mon": {"c": "2"}}) == (
        "[global]\na = 1\nb = \n\n[mon]\nc = 2\n"
    )


@pytest.mark.parametrize(
    ("quotas", "expected"),
    [
        (Quotas(), 0),
        (Quotas(max_bytes=7), 7),
        (Quotas(max_size="10Gi", max_bytes=7), 10 << 30),
        (Quotas(max_size="1.5k"), 1500),
    ],
)
def test_a_quota_is_read_in_bytes(quotas: Quotas, expected: int) -> None:
    assert poolspec.max_bytes(quotas) == expected


def test_an_up_to_date_pool_needs_no_change() -> None:
    found = {"quota_max_bytes": 1 << 30, "quota_max_objects": 0, "options": {"x": 1}}
    spec = a_pool(quotas=Quotas(max_size="1Gi"), parameters={"x": "1"})
    assert poolspec.changes("p", spec, found) == []


def test_changed_settings_of_a_pool_are_set() -> None:
    found = {"quota_max_bytes": 5, "quota_max_objects": 0, "options": {}}
    changes = poolspec.changes("p", a_pool(parameters={"compression_mode": "none"}), found)
    assert [each["command"]["prefix"] for each in changes] == [
        "osd pool set-quota",
        "osd pool set",
    ]
    assert changes[0]["command"]["val"] == "0"


def test_unsupported_pools_are_named() -> None:
    coded = CephBlockPoolSpec(erasure_coded=ErasureCoded(data_chunks=2, coding_chunks=1))
    assert "erasureCoded" in poolspec.unsupported(coded)
    assert "maxSize" in poolspec.unsupported(a_pool(quotas=Quotas(max_size="lots")))
    assert poolspec.unsupported(a_pool()) == ""
    assert poolspec.reduction(CephBlockPoolSpec(replicated=Replicated(size=3))).startswith(
        "1 of 3"
    )


@pytest.mark.parametrize("name", ["admin", "rgw.a", "osd.0", "bootstrap-osd", "rbd-mirror"])
def test_reserved_names_are_invalid(name: str) -> None:
    assert "reserved" in userspec.invalid(name, CephClientSpec(caps={"mon": "allow r"}))


def test_a_user_needs_capabilities() -> None:
    assert "caps" in userspec.invalid("glance", CephClientSpec(caps={}))
    assert userspec.invalid("administrator", CephClientSpec(caps={"mon": "allow r"})) == ""


def test_an_error_names_the_command_without_its_arguments() -> None:
    requests = [
        commands.command("osd pool ls"),
        commands.command("auth import", key="a-secret"),
        commands.command("version"),
    ]
    response = Response(status={}, results=[Result(code=0), Result(code=-13, message="denied")])
    failed = commands.failure(requests, response)
    assert failed is not None
    assert failed.message == "Ceph rejects 'auth import' (-13): denied"
    with pytest.raises(commands.CommandFailed):
        commands.expect(requests, response)
