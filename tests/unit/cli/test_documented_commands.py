"""Commands on our pages exist, with options that exist; so do targets of make, files and folders."""

import argparse
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from cobaltcore.cli import main

ROOT = Path(__file__).parents[3]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
BLOCK = re.compile(r"^```(?:console|sh)\n(.*?)^```", re.DOTALL | re.MULTILINE)
TARGET = re.compile(r"^([a-z0-9-]+(?: [a-z0-9-]+)*):", re.MULTILINE)
EXAMPLES = sorted({e for p in PAGES for e in re.findall(r"examples/[a-z-]+\.yaml", p.read_text())})
INLINE = re.compile(r"`cobalt ([a-z]+)([^`\n]*)`")
PLACEHOLDER = re.compile(r"\[[^]]*\]|…|\.\.\.")


def lines(page: Path) -> Iterator[str]:
    """The commands of a page, each on one line, without its prompt."""
    for block in BLOCK.findall(page.read_text()):
        joined = block.replace("\\\n", " ")
        for line in joined.splitlines():
            for part in re.split(r"\s(?:\||&&|;)\s", line.removeprefix("$ ").strip()):
                yield part.partition(" > ")[0].strip().removeprefix("sudo ")


def commands(program: str) -> list[tuple[str, str]]:
    found = [(p, each) for p in PAGES for each in lines(p) if each.split()[:1] == [program]]
    return sorted({(str(page.relative_to(ROOT)), line) for page, line in found})


@pytest.mark.parametrize(("page", "line"), commands("cobalt"))
def test_a_documented_command_is_understood(page: str, line: str) -> None:
    words = shlex.split(PLACEHOLDER.sub("", line), comments=True)[1:]
    known = main.commands(words[0])
    own = getattr(known.get(words[0]), "OWN_FLAGS", None)
    parsed = main.parser(known).parse_args(words if own is None else main._shielded(words, own))
    assert parsed.command == words[0]


@pytest.mark.parametrize("page", [str(each.relative_to(ROOT)) for each in PAGES])
def test_commands_in_a_sentence_exist_with_their_options(page: str) -> None:
    for name, rest in INLINE.findall((ROOT / page).read_text()):
        known = main.commands(name)
        assert list(known) == [name]
        parser = argparse.ArgumentParser()
        known[name].configure(parser)
        nested = [*parser._actions, *_actions_below(parser)]
        options = {option for each in nested for option in each.option_strings}
        used = re.findall(r"(?<![\w-])--?[a-z][a-z-]*", rest)
        passed = getattr(known[name], "OWN_FLAGS", None) is not None
        assert passed or set(used) <= options | {"--debug"}, f"cobalt {name}{rest}"


def _actions_below(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                yield from each._actions


@pytest.mark.parametrize(("page", "line"), commands("make"))
def test_a_documented_target_of_make_exists(page: str, line: str) -> None:
    makefile = (ROOT / "Makefile").read_text()
    known = {name for found in TARGET.findall(makefile) for name in found.split()}
    words = shlex.split(line, comments=True)[1:]
    assert {each for each in words if "=" not in each} <= known


@pytest.mark.parametrize("page", [str(each.relative_to(ROOT)) for each in PAGES])
def test_links_lead_to_files_that_exist(page: str) -> None:
    text = (ROOT / page).read_text()
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        if "://" not in target:
            assert ((ROOT / page).parent / target).exists(), target


def test_folders_that_the_readme_lists_exist() -> None:
    rows = re.findall(r"^\| (`.*?`) \|", (ROOT / "README.md").read_text(), re.MULTILINE)
    folders = [name for row in rows for name in re.findall(r"`([^`]+)`", row)]
    assert len(folders) > 10
    assert [each for each in folders if not (ROOT / each).exists()] == []


@pytest.mark.parametrize("file", EXAMPLES)
def test_documented_examples_exist(file: str) -> None:
    assert (ROOT / file).exists()


def test_there_are_commands_to_check() -> None:
    assert len(commands("cobalt")) > 20
    assert commands("make")
