"""Prints on standard output that the service is ready, and what to do next."""

import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from service.config.deployment import host_of, is_local, is_public
from service.config.model import Config
from service.terminal.browser import open_page
from service.terminal.output import OutputLost, discard_output
from service.version import VERSION

OUTBOX = "/dev/outbox"
BROWSER_THREAD = "browser"


def report_ready(config: Config, data_dir: Path, urls: Sequence[str], *, browse: bool) -> None:
    """Print the addresses of the ready service, and what to do next. With `browse`, open the browser."""
    page = config.server.base_url or urls[0]
    _print(
        [
            f"Catalog and Sponsorship Service {VERSION}, data directory {data_dir}",
            f"database: {database_of(config)}",
            f"mail: {mail_of(config, urls[0])}",
            *(f"listening on {url}" for url in urls),
            f"open {page} in a browser, or {page}/docs for the API; Ctrl-C stops the service",
        ]
    )
    if browse:
        # A browser may take seconds to answer, and a thread that waits for it must not keep the process alive.
        threading.Thread(target=_browse, args=[page], name=BROWSER_THREAD, daemon=True).start()


def _print(lines: Sequence[str]) -> None:
    """Print in one write. The service goes on if nobody reads it."""
    try:
        print("\n".join(lines), flush=True)
    except OutputLost:
        discard_output()


def _browse(page: str) -> None:
    if not open_page(page):
        print(f"no browser was found here: open {page} yourself", file=sys.stderr)


def database_of(config: Config) -> str:
    """The place where data is stored, without a password."""
    if not config.database.url:
        return "the embedded Postgres, in the data directory"
    return f"Postgres at {_place_of(config.database.url)}" + (" with Citus" if config.database.distributed else "")


def mail_of(config: Config, url: str) -> str:
    """The server that mails go to, without a password. `url` is where the service listens."""
    if config.mail.smtp_url:
        return f"sent through {_place_of(config.mail.smtp_url)}"
    binds = [config.server.bind, config.tls.bind or config.server.bind]
    if is_public(config.server.base_url) or not all(is_local(host_of(bind)) for bind in binds):
        return "not sent, because mail.smtp_url is empty; codes are in the log"
    return f"not sent, because mail.smtp_url is empty; read it at {url}{OUTBOX}"


def _place_of(url: str) -> str:
    """Host and port of a URL, without user and password. A database's host may also be an option."""
    parts = urlsplit(url)
    [host, *_] = parse_qs(parts.query).get("host", [""])
    return parts.netloc.rpartition("@")[2] or host or "the default address"
