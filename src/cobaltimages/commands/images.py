"""`cobalt images`: builds the images that everything runs from, and lists them."""

import argparse
import os
from pathlib import Path

from cobaltcore.api import release as releases
from cobaltcore.cli import output, progress
from cobaltimages import build, cache, catalogue, lock, options, push, recipe, sources, store

HELP = "build container images, or list them"

_MEGABYTE = 1_000_000


def configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    _configure_build(verbs.add_parser("build", help="build what is out of date"))
    listing = verbs.add_parser("list", help="show images with their tags and signatures")
    listing.add_argument("-o", "--output", choices=["table", "json"], default="table")
    saving = verbs.add_parser("save", help="write images to an OCI archive")
    saving.add_argument("file", type=Path, metavar="FILE")
    saving.add_argument("names", nargs="*", metavar="NAME", help="which images (default: all)")
    pushing = verbs.add_parser("push", help="push images with signatures and SBOMs to a registry")
    pushing.add_argument("registry", metavar="REGISTRY", help="HOST[:PORT][/PATH]")
    pushing.add_argument("names", nargs="*", metavar="NAME", help="which images (default: all)")
    pushing.add_argument("--plain-http", action="store_true", help="the registry has no TLS")
    locking = verbs.add_parser("lock", help="update the locked Python packages of a release")
    collecting = verbs.add_parser(
        "options", help="update the options of services that are checked at admission"
    )
    for verb in (listing, saving, pushing, locking, collecting):
        _add_places(verb)


def run(arguments: argparse.Namespace) -> int:
    verbs = {
        "build": _build,
        "list": _list,
        "save": _save,
        "push": _push,
        "lock": _lock,
        "options": _options,
    }
    return verbs[arguments.verb](arguments)


def _configure_build(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="which images (default: all)")
    parser.add_argument(
        "--base",
        default="",
        metavar="IMAGE",
        help="base image of a registry, instead of the own root file system",
    )
    parser.add_argument(
        "--refresh",
        action="store_true",
        help="rebuild with the newest Debian packages",
    )
    parser.add_argument(
        "--force", action="store_true", help="rebuild also images that are up to date"
    )
    parser.add_argument("--jobs", type=int, default=0, metavar="N", help="how many at once")
    parser.add_argument(
        "--yes", action="store_true", help="install missing Debian packages without asking"
    )
    _add_places(parser)
    progress.add_progress(parser)


def _add_places(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--release",
        default=releases.DEFAULT,
        help=f"OpenStack release (default: {releases.DEFAULT})",
    )
    parser.add_argument("--source", type=Path, metavar="DIR", help="source tree to build from")
    parser.add_argument(
        "--store",
        type=Path,
        metavar="DIR",
        help="where images are kept (default: the user's cache)",
    )


def _build(arguments: argparse.Namespace) -> int:
    options = build.Options(
        release=arguments.release,
        names=arguments.names,
        base=arguments.base,
        jobs=arguments.jobs,
        is_refresh=arguments.refresh,
        is_forced=arguments.force,
        install_packages=arguments.yes,
    )
    shown = progress.phases_of(arguments)
    result = build.build(_tree(arguments), _store(arguments).directory, options, shown)
    if arguments.json:
        output.json_line(
            {"event": "result", "built": dict(result.built), "reused": list(result.reused)}
        )
    elif not arguments.quiet and result.built:
        _report(result, shown.total)
    return 0


def _report(result: build.Result, seconds: float) -> None:
    slowest = sorted(result.built.items(), key=lambda item: -item[1])
    rows = [
        [name, f"{took:.1f} s", _size(result.records[name].size), result.records[name].version]
        for name, took in slowest
    ]
    output.table(["IMAGE", "BUILT IN", "SIZE", "VERSION"], rows)
    output.note(
        f"\n{len(result.built)} images built, {len(result.reused)} reused in {seconds:.1f} s\n\n"
        "  cobalt images list\n"
        "  cobalt images save FILE NAME..."
    )


def _list(arguments: argparse.Namespace) -> int:
    found = catalogue.load(_tree(arguments), _store(arguments), arguments.release)
    if arguments.output == "json":
        output.as_json(found)
        return 0
    if not found.images:
        output.note("There are no images yet; build them with: cobalt images build")
        return 0
    rows = [_row(image) for image in found.images]
    output.table(["IMAGE", "TAGS", "SIZE", "OWN", "DIGEST", "SIGNED", "STATE"], rows)
    output.note(f"\nall layers: {_size(found.unpacked_bytes)}")
    return 0


def _row(image: catalogue.Image) -> list[str]:
    return [
        image.repository,
        " ".join(image.tags[:2]),
        _size(image.size_bytes),
        _size(image.own_bytes),
        image.digest.removeprefix("sha256:")[:12],
        "yes" if image.is_signed else "no",
        image.state,
    ]


def _save(arguments: argparse.Namespace) -> int:
    image_store, tree = _store(arguments), _tree(arguments)
    wanted = catalogue.references(tree, image_store, arguments.release, arguments.names)
    with arguments.file.open("wb") as target:
        image_store.archive(wanted, target)
    output.note(f"{len(wanted)} names written to {arguments.file}")
    return 0


def _push(arguments: argparse.Namespace) -> int:
    image_store, names = _store(arguments), arguments.names
    found = catalogue.references(_tree(arguments), image_store, arguments.release, names)
    found |= catalogue.attachments(image_store, arguments.release, names)
    host, _, path = arguments.registry.strip("/").partition("/")
    credentials = push.credentials(host, os.environ)
    registry = push.Registry(host, plain_http=arguments.plain_http, credentials=credentials)
    sent = 0
    for reference, digest in found.items():
        name, _, tag = reference.removeprefix(f"{recipe.REGISTRY}/").partition(":")
        if not reference.startswith(f"{recipe.REGISTRY}/"):
            continue  # the name under which a node asks another registry for it
        repository = f"{path}/{name}" if path else name
        if registry.push(image_store, repository, tag, digest):
            sent += 1
            output.data(f"{host}/{repository}:{tag}@{digest}")
    output.note(f"{sent} of {len(found)} names pushed, the others were up to date")
    return 0


def _lock(arguments: argparse.Namespace) -> int:
    tree = _tree(arguments)
    pinned = lock.update(tree, arguments.release)
    output.note(f"pins written to {pinned.directory}")
    return 0


def _options(arguments: argparse.Namespace) -> int:
    image_store = _store(arguments)
    written = options.update(_tree(arguments), image_store, arguments.release)
    output.note(f"options of {', '.join(written)} written")
    return 0


def _tree(arguments: argparse.Namespace) -> sources.Sources:
    return sources.find(arguments.source)


def _store(arguments: argparse.Namespace) -> store.Store:
    return store.Store((arguments.store or default_store()).absolute())


def default_store() -> Path:
    """The default directory of the store."""
    return cache.cache_directory() / "images"


def _size(size_bytes: int) -> str:
    return f"{size_bytes / _MEGABYTE:.0f} MB"
