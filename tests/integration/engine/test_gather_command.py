"""`cobalt gather` against a real API server: what is in the bundle, and what is not."""

import base64
import stat
import tarfile
from pathlib import Path

from tests.integration.engine.test_keystone import a_keystone, a_secret
from tests.support import asking
from tests.support.control_plane import ControlPlaneHarness

VALUE = "open-sesame-of-the-administrator"


def test_a_bundle_has_objects_and_findings_and_no_secret(
    plane: ControlPlaneHarness, space: str, tmp_path: Path
) -> None:
    meta = {"name": "leaky", "namespace": space}
    variable = {"name": "ADMIN_PASSWORD", "value": VALUE}
    container = {"name": "c", "image": "i", "env": [variable], "args": ["--login", VALUE]}
    asking.create(
        plane,
        a_keystone(space),
        a_secret("keystone-admin", space, password=VALUE),
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": meta,
            "data": {"text": f"is {VALUE}"},
        },
        {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container]}},
    )
    target = tmp_path / "bundle.tar.gz"
    code, text = asking.cobalt(plane, "gather", "--to", str(target))
    assert code == 0, text
    assert str(target) in text
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    files = contents(target)
    assert {"versions.json", "status.json", "doctor.json", "why.json", "missing.txt"} <= set(files)
    assert f"Keystone/{space}/keystone" in files["why.json"]
    assert f"objects/{space}/keystones.keystone.openstack.c5c3.io/keystone.yaml" in files
    assert f"objects/{space}/configmaps/leaky.yaml" in files
    assert "password: '***'" in files[f"objects/{space}/secrets/keystone-admin.yaml"]
    encoded = base64.b64encode(VALUE.encode()).decode()
    for name, content in files.items():
        assert VALUE not in content, name
        assert encoded not in content, name
    code, text = asking.cobalt(plane, "gather", "--to", str(target))
    assert code == 1
    assert "choose another file" in text


def contents(path: Path) -> dict[str, str]:
    found = {}
    with tarfile.open(path) as tar:
        for each in tar.getmembers():
            handle = tar.extractfile(each)
            assert handle is not None
            found[each.name.partition("/")[2]] = handle.read().decode()
    return found
