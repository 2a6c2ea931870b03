"""Check what no other tool does: file lengths, and the length of pages and shell scripts."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CODE_LIMIT = 400
TEST_LIMIT = 600
PAGE_LIMIT = 300
SHELL_LIMIT = 50
BANNED_WORDS = ("simply", "obviously")


def limit(path: Path) -> int | None:
    """How many lines a file may have; None if it does not matter."""
    if path.suffix == ".py":
        return TEST_LIMIT if path.parts[0] == "tests" else CODE_LIMIT
    if path.suffix == ".md":
        return PAGE_LIMIT
    return SHELL_LIMIT if path.suffix == ".sh" else None


def complaints(root: Path, paths: Iterable[Path]) -> Iterator[str]:
    """What is wrong with files, one line each."""
    for path in paths:
        text = (root / path).read_text()
        most = limit(path)
        lines = text.count("\n")
        if most is not None and lines > most:
            yield f"{path}: {lines} lines, at most {most}: split it by noun"
        if path.suffix == ".md":
            yield from _words(path, text)


def _words(path: Path, text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), 1):
        for word in BANNED_WORDS:
            if word in line.lower().split():
                yield f"{path}:{number}: say it without {word!r}"


def main() -> int:
    """Print complaints; 1 if there are any."""
    folders = ("src", "tests", "tools", "docs", "images")
    files = [p.relative_to(ROOT) for f in folders for p in (ROOT / f).rglob("*") if p.is_file()]
    wanted = [path for path in files if path.suffix in {".py", ".md", ".sh"}]
    found = sorted(complaints(ROOT, wanted))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
