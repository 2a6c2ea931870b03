"""Tags of an image: upstream version, patch revision, branch, commit, and all of them in one."""

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_INVALID = re.compile(r"[^A-Za-z0-9_.-]")
_SHORT = 7


@dataclass(frozen=True, slots=True)
class Commit:
    """The commit of the source tree; `is_clean` if all inputs of images are committed."""

    branch: str
    sha: str
    is_clean: bool

    @property
    def short(self) -> str:
        """The short name of the commit, marked when there are changes on top of it."""
        return self.sha[:_SHORT] + ("" if self.is_clean else "-dirty")


def tags(version: str, *, release: str, patches: int, commit: Commit | None) -> list[str]:
    """All tags of an image, the upstream version first."""
    found = [as_tag(version)]
    if patches:
        found.append(f"{as_tag(version)}-p{patches}")
    found.append(f"stable-{release}")
    if commit:
        branch = as_tag(commit.branch)
        found += [branch, commit.short, f"{as_tag(version)}-p{patches}-{branch}-{commit.short}"]
    return list(dict.fromkeys(found))


def as_tag(name: str) -> str:
    """A name with nothing in it that a tag may not have."""
    return _INVALID.sub("-", name)


def commit(root: Path, inputs: Sequence[str]) -> Commit | None:
    """The commit of a source tree, or None if it is not one of git's."""
    sha = _git(root, "rev-parse", "HEAD")
    branch = _git(root, "rev-parse", "--abbrev-ref", "HEAD")
    if not sha or not branch:
        return None
    changes = _git(root, "status", "--porcelain", "--", *inputs)
    return Commit(branch=branch if branch != "HEAD" else "detached", sha=sha, is_clean=not changes)


def _git(root: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603 arguments are ours
            ["git", "-C", str(root), *arguments],  # noqa: S607 the user's git
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if not done.returncode else ""
