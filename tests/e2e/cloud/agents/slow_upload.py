"""Upload an image in parts with a pause between them: `slow_upload.py NAME PAUSE`.

Runs in the toolbox pod. Prints one JSON object: the image's identifier and size, as Glance has it.
"""

import json
import sys
import time
from collections.abc import Iterator
from typing import Any

import openstack  # type: ignore[import-not-found]  # in the toolbox image

PART = b"part" * 16384


def parts(pause: float) -> Iterator[bytes]:
    """Two parts; a body without a known length is sent in chunks."""
    yield PART
    time.sleep(pause)  # noqa: TID251 the pause is what is tested
    yield PART


def main(name: str, pause: float) -> None:
    with openstack.connect() as cloud:
        formats = {"disk_format": "raw", "container_format": "bare"}
        image: Any = cloud.image.post("/images", json={"name": name, **formats}).json()
        headers = {"Content-Type": "application/octet-stream"}
        path = f"/images/{image['id']}/file"
        cloud.image.put(path, data=parts(pause), headers=headers).raise_for_status()
        stored = cloud.image.get(f"/images/{image['id']}").json()
    found = {"id": stored["id"], "size": stored["size"], "sent": 2 * len(PART)}
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
