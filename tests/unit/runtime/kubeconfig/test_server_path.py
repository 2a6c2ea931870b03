from pathlib import Path

from aiohttp import web

from cobaltcore.runtime import kubeconfig
from cobaltcore.runtime.http_transport import HttpTransport
from cobaltcore.runtime.transport import Request
from tests.support.kubeconfigs import a_kubeconfig


async def test_path_of_the_server_comes_before_every_request(tmp_path: Path) -> None:
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.path_qs)
        return web.json_response({})

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server = f"http://127.0.0.1:{runner.addresses[0][1]}/k8s/clusters/c-1/"
    path = a_kubeconfig(tmp_path / "config", cluster={"server": server})
    wire = HttpTransport(kubeconfig.load(path, environ={}), agent="test")

    await wire.send(Request("GET", "/api/v1/pods", {"limit": "5"}))

    assert asked == ["/k8s/clusters/c-1/api/v1/pods?limit=5"]
    await wire.close()
    await runner.cleanup()
