"""Packages of charts and the index of a chart repository, the same bytes for the same charts. Pure."""

import gzip
import hashlib
import io
import tarfile
from collections.abc import Iterable, Mapping

import yaml

from cobaltcore.deploy.chart import charts
from cobaltcore.deploy.chart.charts import Chart

INDEX = "index.yaml"


def package(chart: Chart) -> bytes:
    """A .tgz as `helm package` makes it."""
    buffer = io.BytesIO()
    # A gzip header has a time and a name as well.
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0) as compressed,
        tarfile.open(mode="w", fileobj=compressed, format=tarfile.PAX_FORMAT) as tar,
    ):
        for path, text in chart.files.items():
            content = text.encode()
            entry = tarfile.TarInfo(f"{chart.name}/{path}")
            entry.size = len(content)
            entry.mode = 0o644
            tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def index(packages: Mapping[str, bytes], found: Iterable[Chart], url: str = "") -> str:
    """The index.yaml of a repository; relative addresses unless `url` is where it is served."""
    entries = {
        each.name: [
            {
                **charts.metadata(each.name, each.description),
                "digest": hashlib.sha256(packages[each.archive]).hexdigest(),
                "urls": [f"{url.rstrip('/')}/{each.archive}" if url else each.archive],
            }
        ]
        for each in found
    }
    return yaml.safe_dump({"apiVersion": "v1", "entries": entries}, sort_keys=False, width=120)
