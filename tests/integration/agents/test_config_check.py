"""The agent that tries options and rules of users, with a real Keystone."""

import subprocess
from pathlib import Path

import pytest

from tests.support import keystone

SOURCES = Path(__file__).resolve().parents[3] / "src"
PROGRAM = (
    "import sys; from cobaltcore.agents.config import check; sys.exit(check.main(sys.argv[1:]))"
)


@pytest.fixture(scope="module")
def python() -> Path:
    """The Python that Keystone is installed for."""
    return keystone.installation() / "venv/bin/python"


def tried(python: Path, directory: Path, *options: str) -> tuple[int, str]:
    """Exit code and last line of the agent."""
    done = subprocess.run(
        [python, "-c", PROGRAM, "keystone", directory, *options],
        env={"PYTHONPATH": str(SOURCES)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stderr.strip().rpartition("\n")[2]


def test_valid_options_and_rules_pass(python: Path, tmp_path: Path) -> None:
    (tmp_path / "keystone.conf").write_text(
        "[DEFAULT]\ndebug = true\nlog_file = $log_dir/file\n[token]\nexpiration = 3600\n"
        "[foreign]\nanything = goes\n"
    )
    (tmp_path / "policy.yaml").write_text(
        "identity:list_users: role:reader and rule:helper\nhelper: '!'\n"
    )
    wanted = ("DEFAULT/debug", "DEFAULT/log_file", "token/expiration", "foreign/anything")
    code, _ = tried(python, tmp_path, *wanted)
    assert code == 0


@pytest.mark.parametrize(
    ("section", "option", "value", "problem"),
    [
        ("token", "expiration", "banana", "invalid literal for int() with base 10: 'banana'"),
        ("token", "expiration", "-1", "Should be greater than or equal to 0"),
        ("DEFAULT", "debug", "maybe", "Unexpected boolean value 'maybe'"),
        ("fernet_tokens", "max_active_keys", "0", "Should be greater than or equal to 1"),
        ("token", "expirationn", "5", "there is no such option, did you mean 'expiration'?"),
        ("database", "banana", "5", "there is no such option"),
    ],
)
def test_option_that_keystone_would_refuse_or_ignore_is_named(
    python: Path, tmp_path: Path, section: str, option: str, value: str, problem: str
) -> None:
    (tmp_path / "keystone.conf").write_text(f"[{section}]\n{option} = {value}\n")
    code, line = tried(python, tmp_path, f"{section}/{option}")
    assert code == 1
    assert line == f"ConfigInvalid: [{section}] {option}: {problem}"


def test_section_that_is_almost_another_is_named(python: Path, tmp_path: Path) -> None:
    (tmp_path / "keystone.conf").write_text("[tokn]\nexpiration = 5\n")
    code, line = tried(python, tmp_path, "tokn/expiration")
    assert (code, line) == (
        1,
        "ConfigInvalid: [tokn]: there is no such section, did you mean 'token'?",
    )


@pytest.mark.parametrize(
    ("rule", "check", "problem"),
    [
        ("identity:get_user", "role:admin und (", "'role:admin und (' cannot be read"),
        ("identity:get_user", "rule:nobody", "there is no rule 'nobody' to refer to"),
        (
            "identity:list_user",
            "role:admin",
            "nothing asks for it, did you mean 'identity:list_users'?",
        ),
    ],
)
def test_rule_that_would_deny_everybody_or_nothing_is_named(
    python: Path, tmp_path: Path, rule: str, check: str, problem: str
) -> None:
    (tmp_path / "policy.yaml").write_text(f'{rule}: "{check}"\n')
    code, line = tried(python, tmp_path)
    assert (code, line) == (1, f"ConfigInvalid: policy rule {rule!r}: {problem}")
