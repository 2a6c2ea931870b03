"""Ask six APIs twice a second each until a file exists: `load.py STOP`. Runs in the toolbox pod.

Prints one JSON object: the number of requests, and time, API and error of those that failed.
"""

import json
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import openstack  # type: ignore[import-not-found]  # in the toolbox image

INTERVAL_SECONDS = 0.5
APIS = {
    "identity": "/regions",
    "image": "/images",
    "placement": "/resource_providers",
    "compute": "/servers",
    "network": "/networks",
    "block_storage": "/volumes",
}


def request(cloud: Any, api: str) -> tuple[float, str, str]:
    """List what an API has; when that was, the API, and the error, if any."""
    moment = time.time()
    try:
        answer = getattr(cloud, api).get(APIS[api], timeout=60)
    except Exception as error:  # noqa: BLE001 every failure counts
        return moment, api, f"{type(error).__name__}: {error}"[:300]
    problem = "" if answer.status_code == 200 else f"{answer.status_code}: {answer.text[:200]}"
    return moment, api, problem


def main(stop: Path) -> None:
    stop.unlink(missing_ok=True)
    sent, failed = 0, []
    pending: list[Future[tuple[float, str, str]]] = []
    with openstack.connect() as cloud, ThreadPoolExecutor(24) as pool:
        for api in APIS:
            getattr(cloud, api).get_endpoint()
        next_time = time.monotonic()
        while not stop.exists():
            pending += [pool.submit(request, cloud, api) for api in APIS]
            failed += [each.result() for each in pending if each.done() and each.result()[2]]
            pending = [each for each in pending if not each.done()]
            sent += len(APIS)
            next_time += INTERVAL_SECONDS
            time.sleep(max(0.0, next_time - time.monotonic()))  # noqa: TID251 a steady rate
        failed += [each.result() for each in pending if each.result()[2]]
    sys.stdout.write(json.dumps({"sent": sent, "failed": failed}) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
