"""Cache keys and version flags of built binaries."""

from pathlib import Path

import pytest

from cobaltimages import cache
from cobaltlab import errors, gobuild, gotoolchain, kubebuild

GO_MOD = "module m\n\ngo 1.24.0\n\nrequire (\n\tk8s.io/kubernetes v1.34.4\n)\n"
BASE_GO = (1, 26, 8)


@pytest.fixture
def module(tmp_path: Path) -> Path:
    files = {
        "go.mod": GO_MOD,
        "go.sum": "sum\n",
        "cmd/kube/main.go": "package main\n",
        "kwok/go.mod": "module n\n",
        "kwok/cmd/kwok/main.go": "package main\n",
    }
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return tmp_path


def key(module: Path, *, go: gotoolchain.Version = BASE_GO, machine: str = "x86_64") -> str:
    return kubebuild.cache_key(module, go=go, machine=machine)


@pytest.mark.parametrize("name", ["go.mod", "go.sum", "cmd/kube/main.go", "cmd/kube/more.go"])
def test_cache_key_changes_with_every_input(module: Path, name: str) -> None:
    before = key(module)
    (module / name).write_text("changed\n")

    assert key(module) != before


def test_cache_key_changes_with_go_and_architecture(module: Path) -> None:
    keys = {key(module), key(module, go=(1, 26, 9)), key(module, machine="aarch64")}

    assert len(keys) == 3


def test_cache_key_ignores_nested_modules_and_other_files(module: Path) -> None:
    before = key(module)
    (module / "kwok/cmd/kwok/main.go").write_text("changed\n")
    (module / "kwok/go.mod").write_text("changed\n")
    (module / "README.md").write_text("changed\n")

    assert key(module) == before


def test_cache_key_changes_when_a_file_moves(module: Path) -> None:
    before = key(module)
    (module / "cmd/kube/main.go").rename(module / "cmd/main.go")

    assert key(module) != before


def test_version_flags_carry_the_pinned_release() -> None:
    flags = kubebuild.version_flags(GO_MOD, released="2026-02-10T12:53:36Z").split()

    assert "k8s.io/component-base/version.gitVersion=v1.34.4" in flags
    assert "k8s.io/component-base/version.gitMinor=34" in flags
    assert "k8s.io/component-base/version.buildDate=2026-02-10T12:53:36Z" in flags


def test_helm_renders_for_the_kubernetes_of_its_client() -> None:
    module = "module m\n\thelm.sh/helm/v3 v3.22.0\n\tk8s.io/client-go v0.37.0 // indirect\n"
    flags = kubebuild.helm_flags(module).split()

    assert "helm.sh/helm/v3/internal/version.version=v3.22.0" in flags
    assert "helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor=37" in flags
    with pytest.raises(errors.LabError, match=r"does not require helm\.sh/helm/v3"):
        kubebuild.helm_flags(GO_MOD)


def test_kubernetes_version_fails_when_nothing_is_pinned() -> None:
    with pytest.raises(errors.LabError, match=r"does not require k8s\.io/kubernetes"):
        kubebuild.kubernetes_version("module m\n\nreplace k8s.io/kubernetes => ../k\n")


def test_sources_of_this_tree_are_found_and_pin_every_part_of_kubernetes_alike() -> None:
    go_mod = (kubebuild.sources_directory() / "go.mod").read_text()
    version, _, _ = kubebuild.kubernetes_version(go_mod)
    staged = [line for line in go_mod.splitlines() if "=> k8s.io/" in line]

    assert staged
    assert all(line.endswith(version.replace("v1.", " v0.")) for line in staged)


def test_cache_directory_follows_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.cache_directory() == tmp_path / "cobaltcore"

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/someone")
    assert cache.cache_directory() == Path("/home/someone/.cache/cobaltcore")


def test_unknown_target_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert kubebuild.main(["kube", "cube"]) == 2

    assert (
        capsys.readouterr().err == "unknown targets: cube; "
        "known targets: kube coredns kwok helm registry network-policies\n"
    )


@pytest.mark.parametrize(
    ("output", "word"),
    [
        ("dial tcp: lookup proxy.example: no such host", "GOPROXY"),
        ("verifying m@v1: checksum mismatch", "checksum"),
        ("main.go:1:1: syntax error", "log"),
    ],
)
def test_hint_matches_the_output_of_go(output: str, word: str) -> None:
    assert word in gobuild.hint(output)
