"""A website of another origin than the service's."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, slots=True)
class Site:
    """`pages` are by path, with its query or for any. Each is sent with the headers of the site, which tests can change."""

    url: str
    pages: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)


@contextmanager
def serving_site() -> Iterator[Site]:
    """A site on a port of its own. Its server runs in threads, beside a browser that is driven from this one."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            html = (site.pages.get(self.path) or site.pages.get(self.path.partition("?")[0], "")).encode()
            self.send_response(200 if html else 404)
            self.send_header("content-type", "text/html; charset=utf-8")
            self.send_header("content-length", str(len(html)))
            for name, value in site.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(html)

        def log_message(self, *_: Any) -> None:
            """Logs nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        site = Site(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield site
        finally:
            server.shutdown()
            thread.join()
