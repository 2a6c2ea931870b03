"""A mutating webhook that leaves an annotation; runs in a pod with nothing but Python."""

import base64
import http.server
import json
import ssl
from pathlib import Path

FILES = Path("/files")
PATCH = [{"op": "add", "path": "/metadata/annotations", "value": {"hook": "was here"}}]


class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        review["response"] = {
            "uid": review.pop("request")["uid"],
            "allowed": True,
            "patchType": "JSONPatch",
            "patch": base64.b64encode(json.dumps(PATCH).encode()).decode(),
        }
        body = json.dumps(review).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(FILES / "tls.crt", FILES / "tls.key")
    server = http.server.ThreadingHTTPServer(("", 8443), Hook)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.serve_forever()
