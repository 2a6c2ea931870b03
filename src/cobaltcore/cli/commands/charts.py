"""`cobalt charts`: write or package the Helm charts of the operators."""

import argparse
from pathlib import Path

from cobaltcore.cli import errors, output
from cobaltcore.deploy.chart import archive, charts

HELP = "write the Helm charts of the operators, or package them as a chart repository"


def configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    build = verbs.add_parser("build", help="write every chart as a folder")
    package = verbs.add_parser("package", help="write every chart as .tgz, and index.yaml")
    for each, default in ((build, "charts"), (package, "charts-repository")):
        each.add_argument(
            "--output",
            type=Path,
            default=Path(default),
            metavar="DIRECTORY",
            help="default: %(default)s",
        )
    package.add_argument(
        "--url", default="", help="where the repository is served (default: relative addresses)"
    )
    parser.epilog = "Serve the folder of `package` with any web server, then: helm repo add"


def run(arguments: argparse.Namespace) -> int:
    directory: Path = arguments.output
    found = charts.charts()
    if arguments.verb == "build":
        for each in found:
            for path, text in each.files.items():
                _write(directory / each.name / path, text.encode())
            output.data(str(directory / each.name))
        return 0
    packages = {each.archive: archive.package(each) for each in found}
    for name, content in packages.items():
        _write(directory / name, content)
        output.data(str(directory / name))
    index = archive.index(packages, found, arguments.url)
    _write(directory / archive.INDEX, index.encode())
    output.data(str(directory / archive.INDEX))
    return 0


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise errors.CommandError(f"{path} cannot be written: {error.strerror}") from error
