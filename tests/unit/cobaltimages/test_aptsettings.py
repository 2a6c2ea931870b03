from pathlib import Path, PurePath

import pytest

from cobaltimages import aptsettings, errors

STANZAS = """\
Types: deb
# a comment
URIs: https://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/example.gpg

Types: deb
URIs: https://security.example/debian-security
Suites: bookworm-security
Components: main

Types: deb
URIs: https://disabled.example/debian
Suites: bookworm
Components: main
Enabled: no

Types: deb
URIs: https://vendor.example/linux/debian
Suites: bookworm
Components: stable
"""


def test_stanzas_give_debian_and_nothing_of_other_vendors() -> None:
    found = list(aptsettings.stanza_sources(STANZAS))

    assert found == [
        aptsettings.Source(
            "https://mirror.example/debian",
            ("bookworm", "bookworm-updates"),
            "/usr/share/keyrings/example.gpg",
        ),
        aptsettings.Source("https://security.example/debian-security", ("bookworm-security",)),
    ]


def test_one_line_sources_are_read_with_their_key() -> None:
    text = (
        "# deb https://old.example/debian bookworm main\n"
        "deb [arch=amd64 signed-by=/k.gpg] https://mirror.example/debian bookworm main\n"
        "deb-src https://mirror.example/debian bookworm main\n"
        "deb https://vendor.example bookworm stable\n"
        "deb https://mirror.example/debian trixie main\n"
    )

    found = list(aptsettings.one_line_sources(text))

    assert found == [aptsettings.Source("https://mirror.example/debian", ("bookworm",), "/k.gpg")]


def test_backports_come_from_the_archive_that_has_the_suite() -> None:
    main = aptsettings.Source("https://mirror.example/debian", ("bookworm",))
    security = aptsettings.Source("https://security.example", ("bookworm-security",))

    found = list(aptsettings.with_backports([security, main]))

    assert found[0] == security
    assert found[1].suites == ("bookworm", "bookworm-backports")


def test_backports_that_are_there_are_not_added_again() -> None:
    known = [
        aptsettings.Source("https://mirror.example/debian", ("bookworm",)),
        aptsettings.Source("https://mirror.example/debian", ("bookworm-backports",)),
    ]

    assert list(aptsettings.with_backports(known)) == known


def test_the_next_release_comes_from_the_same_archives_without_backports() -> None:
    found = [
        aptsettings.Source(
            "https://mirror.example/debian", ("bookworm", "bookworm-backports"), "/k.gpg"
        ),
        aptsettings.Source("https://mirror.example/backports", ("bookworm-backports",)),
        aptsettings.Source("https://security.example", ("bookworm-security",)),
    ]

    assert list(aptsettings.next_sources(found)) == [
        aptsettings.Source("https://mirror.example/debian", ("trixie",), "/k.gpg"),
        aptsettings.Source("https://security.example", ("trixie-security",)),
    ]


def test_a_machine_without_debian_sources_is_an_error_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(errors.HostError, match="no source for Debian bookworm") as caught:
        aptsettings.find_sources(tmp_path)

    assert "--base" in caught.value.hint


def test_a_copy_carries_keys_and_certificates_under_the_names_that_steps_see(
    tmp_path: Path,
) -> None:
    for name in ("mirror.gpg", "client.pem", "ca.pem"):
        (tmp_path / name).write_text(name)
    directory = tmp_path / "host"
    directory.mkdir()
    source = aptsettings.Source(
        "https://mirror.example/debian", ("bookworm",), str(tmp_path / "mirror.gpg")
    )
    settings = {
        "Acquire::http::Proxy": "http://proxy.example:3128",
        "Acquire::https::SslCert": str(tmp_path / "client.pem"),
    }

    aptsettings.Copy(directory, PurePath("/run/host")).write(
        [source], settings, tmp_path / "ca.pem"
    )

    sources = (directory / "sources.list.d" / "host.sources").read_text()
    conf = (directory / "apt.conf").read_text()
    assert "Signed-By: /run/host/keys/mirror.gpg" in sources
    assert 'Acquire::http::Proxy "http://proxy.example:3128";' in conf
    assert 'Acquire::https::SslCert "/run/host/keys/client.pem";' in conf
    assert 'Acquire::https::CAInfo "/run/host/keys/ca.pem";' in conf
    assert (directory / "keys" / "client.pem").read_text() == "client.pem"


def test_a_key_written_into_its_source_stays_there() -> None:
    text = (
        "Types: deb\nURIs: https://mirror.example/debian\nSuites: bookworm\nComponents: main\n"
        "Signed-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mQINB\n"
    )

    (found,) = aptsettings.stanza_sources(text)

    assert found.signed_by.splitlines()[1].strip() == "-----BEGIN PGP PUBLIC KEY BLOCK-----"
    assert found.text().endswith("\n .\n mQINB\n")
