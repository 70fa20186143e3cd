"""The commands that serve, migrate the database, and change its billing mode."""

import logging
import os
import sys
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import parse_qs, urlsplit

from service.cli.command import CommandError, argument, option
from service.cli.database import open_with_running_node
from service.cli.running import configured
from service.config.deployment import binds_local, host_of, is_public, refuse_unsafe, refuse_untraced
from service.config.model import Config
from service.config.process import binds_of
from service.running.foundation import clock_of, warn_of_certificate
from service.running.server_secret import Secrets
from service.running.service_manager import PassedSockets
from service.terminal.output import OutputLost, discard_output, open_page
from service.version import PROGRAM, VERSION

log = logging.getLogger(__name__)


async def serve(
    config: Config,
    data_dir: Path,
    *,
    config_file: Path | None,
    bind: Annotated[
        str | None,
        option("address to listen on, or several, separated by commas; port 0 picks a free one", metavar="HOST:PORT"),
    ] = None,
    browse: Annotated[bool, option("open the browser once the service is ready", flag="--open")] = False,
) -> None:
    refuse_unsafe(config)
    refuse_untraced(config)
    warn_of_certificate(config)
    log.info("starting %s %s, data directory %s", PROGRAM, VERSION, data_dir)
    passed = PassedSockets.from_environment(os.environ)
    config = passed.applied(config)
    ready = partial(report_ready, config, data_dir, browse=browse)
    # Loaded here, because other commands need no server; and the parent of several workers loads no app.
    if config.server.workers > 1:
        from service.process import parent

        def reread() -> Config:
            return passed.applied(configured(config_file, bind))

        await parent.run(config, data_dir, ready, reread, passed)
        return
    from service.running.node import run

    await run(config, data_dir, ready, passed)


async def migrate(config: Config, data_dir: Path) -> None:
    async with open_with_running_node(config, data_dir, create=True):
        # Opening storage has migrated it.
        print("the schema is up to date")


OUTBOX = "/dev/outbox"
EVERY = {"0.0.0.0": "every IPv4 address", "[::]": "every IPv6 address"}
"""The hosts that stand for many, for which a URL names one."""

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
            *open_to_others(config, urls),
            f"open {page} in a browser, or {page}/docs for the API; Ctrl-C stops the service",
        ]
    )
    if browse:
        # A browser may take seconds to answer, and a thread that waits for it must not keep the process alive.
        threading.Thread(target=_browse, args=[page], name=BROWSER_THREAD, daemon=True).start()


def open_to_others(config: Config, urls: Sequence[str]) -> list[str]:
    """A line for each URL that names one of several addresses."""
    hosts = [host_of(bind) for bind in (*binds_of(config.server.bind), *binds_of(config.tls.bind))]
    return [
        f"{url} is open to other machines: it listens on {EVERY[host]} of this one"
        for url, host in zip(urls, hosts, strict=True)
        if host in EVERY
    ]


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
    if is_public(config.server.base_url) or not (binds_local(config.server.bind) and binds_local(config.tls.bind)):
        return "not sent, because mail.smtp_url is empty; codes are in the log"
    return f"not sent, because mail.smtp_url is empty; read it at {url}{OUTBOX}"


def _place_of(url: str) -> str:
    """Host and port of a URL, without user and password. A database's host may also be an option."""
    parts = urlsplit(url)
    [host, *_] = parse_qs(parts.query).get("host", [""])
    return parts.netloc.rpartition("@")[2] or host or "the default address"


async def set_billing_mode(
    config: Config,
    data_dir: Path,
    *,
    mode: Annotated[Literal["test", "live"], argument("MODE", "test or live")],
    keep_bookings: Annotated[
        bool, option("although bookings of the other mode hold weeks; they stay and are shown")
    ] = False,
) -> None:
    async with open_with_running_node(config, data_dir) as opened:
        await Secrets.load(config, data_dir, opened.identity)
        if await opened.identity.billing_mode() == mode:
            print(f"the billing mode is already {mode}")
            return
        live = await opened.nodes.live(config.nodes.live_seconds)
        if live:
            raise CommandError(f"running nodes keep their billing mode ({len(live)} running): stop all nodes first")
        now_ms = (await clock_of(config, opened)).now_ms()
        holding = await opened.identity.set_billing_mode(mode, now_ms, keep_bookings=keep_bookings)
    if holding and not keep_bookings:
        raise CommandError(
            f"{holding} bookings of the other mode hold weeks: cancel or refund them (seed-demo --remove removes those of "
            "the demo), or keep them with --keep-bookings"
        )
    print(f"the billing mode is now {mode}; set billing.mode to it on all nodes")
