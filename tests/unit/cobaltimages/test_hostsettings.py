from pathlib import Path

import pytest

from cobaltimages import hostsettings

PIP = {"index-url": "https://index.example/simple", "trusted-host": "index.example"}


def test_uv_uses_the_index_of_pip() -> None:
    found = hostsettings.index_variables({}, PIP)

    assert found["UV_DEFAULT_INDEX"] == "https://index.example/simple"
    assert found["UV_INSECURE_HOST"] == "index.example"


def test_variables_win_over_files_and_uv_over_pip() -> None:
    environment = {
        "PIP_INDEX_URL": "https://variable.example/simple",
        "PIP_EXTRA_INDEX_URL": "https://extra.example/simple",
        "UV_INDEX": "https://uv.example/simple",
    }

    found = hostsettings.index_variables(environment, PIP)

    assert found["UV_DEFAULT_INDEX"] == "https://variable.example/simple"
    assert found["UV_INDEX"] == "https://uv.example/simple"


def test_an_old_name_of_the_index_is_not_contradicted() -> None:
    environment = {"UV_INDEX_URL": "https://uv.example/simple"}

    found = hostsettings.index_variables(environment, PIP)

    assert "UV_DEFAULT_INDEX" not in found


def test_proxies_and_credentials_of_indexes_are_passed_on() -> None:
    environment = {
        "https_proxy": "http://proxy.example:3128",
        "UV_INDEX_COMPANY_PASSWORD": "secret",
        "HOME": "/home/someone",
    }

    found = hostsettings.index_variables(environment, {})

    assert found == {
        "https_proxy": "http://proxy.example:3128",
        "UV_INDEX_COMPANY_PASSWORD": "secret",
    }


def test_a_named_authority_wins_over_the_machines(tmp_path: Path) -> None:
    own = tmp_path / "own.pem"
    own.write_text("certificate")

    assert hostsettings.find_authority({"SSL_CERT_FILE": str(own)}) == own
    assert hostsettings.find_authority({"SSL_CERT_FILE": str(tmp_path / "gone.pem")}) != own


def test_the_users_pip_settings_win_over_older_places(tmp_path: Path) -> None:
    for folder, index in ((".pip", "old"), (".config/pip", "new")):
        (tmp_path / folder).mkdir(parents=True)
        text = f"[global]\nindex_url = https://{index}.example/simple\n"
        (tmp_path / folder / "pip.conf").write_text(text)

    found = hostsettings.read_pip_settings({}, tmp_path)

    assert found["index-url"] == "https://new.example/simple"


def test_build_steps_find_settings_where_they_are_mounted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory, home = tmp_path / "host", tmp_path / "home"
    directory.mkdir()
    home.mkdir()
    (home / ".netrc").write_text("machine index.example password p")
    authority = tmp_path / "ca.pem"
    authority.write_text("certificate")
    monkeypatch.setattr(hostsettings, "write_apt", lambda *_, **__: None)
    environment = {"SSL_CERT_FILE": str(authority), "http_proxy": "http://it's.example"}

    hostsettings.write(directory, environment, home)

    lines = (directory / "env").read_text().splitlines()
    assert "SSL_CERT_FILE=/run/host/ca.crt" in lines
    assert "NETRC=/run/host/netrc" in lines
    assert """http_proxy='http://it'"'"'s.example'""" in lines
    assert (directory / "netrc").stat().st_mode & 0o077 == 0
