"""Consoles of servers."""

import json
from pathlib import Path

from tests.support.cloud import DEMO, Cloud

BROWSER = Path(__file__).parent / "agents/console.py"


def test_the_url_of_a_graphical_console_opens_the_display(cloud: Cloud) -> None:
    url = cloud.get("console", "url", "show", "--novnc", DEMO)["url"]
    assert url.startswith("https://")
    found = json.loads(cloud.python(BROWSER.read_text(), url).splitlines()[-1])
    assert found["status"] == 200
    assert found["display"] == ["RFB 003.008", "0101", "00000000"]
