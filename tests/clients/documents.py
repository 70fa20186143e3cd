"""The metadata document of a client, served over TLS on this machine, as a maker of clients publishes it."""

import json
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.webhooks.listeners import CERTIFICATE, KEY

PATH = "/client.json"


@contextmanager
def serving_document(name: str, redirects: Sequence[str]) -> Iterator[str]:
    """Serve the document of a client with this name. Yields its address."""
    document: dict[str, Any] = {
        "client_name": name,
        "redirect_uris": redirects,
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(document).encode() if self.path == PATH else b""
            self.send_response(200 if body else 404)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Write nothing."""

    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(CERTIFICATE, KEY)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
        document["client_id"] = f"https://localhost:{server.server_port}{PATH}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield document["client_id"]
        server.shutdown()
