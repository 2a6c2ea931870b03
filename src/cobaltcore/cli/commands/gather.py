"""`cobalt gather`: a support bundle without secrets."""

import argparse
from datetime import UTC, datetime
from pathlib import Path

import uvloop

from cobaltcore.cli import bundle, bundle_reading, connecting, errors, output
from cobaltcore.cli.bundle_reading import Gathered

HELP = "write a support bundle: objects, events, logs, versions; secrets are hidden"


def configure(parser: argparse.ArgumentParser) -> None:
    connecting.configure_connection(parser)
    parser.add_argument(
        "--to", type=Path, metavar="FILE", help="default: cobalt-TIME.tar.gz in this directory"
    )
    parser.epilog = "Files in which something secret is found in the end are left out and named."


def run(arguments: argparse.Namespace) -> int:
    now = datetime.now(UTC)
    root = f"cobalt-{now:%Y%m%dT%H%M%SZ}"
    target: Path = arguments.to or Path(f"{root}.tar.gz")
    found = uvloop.run(_gather(arguments))
    files, left_out = safe(found)
    content = bundle.archive(files, root=root, time=int(now.timestamp()))
    try:
        target.touch(mode=0o600, exist_ok=False)
        target.write_bytes(content)
    except OSError as error:
        raise errors.CommandError(
            f"{target} cannot be written: {error.strerror}", hint="choose another file with --to"
        ) from error
    for each in left_out:
        output.note(f"left out: {each.file} has {each.what} in it")
    output.note(f"{len(files)} files, {len(content) / 1e6:.1f} MB, secrets hidden")
    output.data(str(target))
    return 0


async def _gather(arguments: argparse.Namespace) -> Gathered:
    async with connecting.connected(arguments) as client:
        return await bundle_reading.gather(client)


def safe(found: Gathered) -> tuple[dict[str, str], list[bundle.Leak]]:
    """Files with secrets hidden, without those in which a scan still finds some."""
    hide = bundle.hider(found.secrets)
    files = {name: hide(text) for name, text in found.files.items()}
    files["missing.txt"] = hide("".join(f"{each}\n" for each in sorted(found.missing)))
    left_out = bundle.leaks(files, found.secrets)
    unsafe = set(bundle.unsafe(left_out))
    return {name: text for name, text in files.items() if name not in unsafe}, left_out
