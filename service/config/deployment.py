"""Finds what makes a deployment unsafe, before a start and for `doctor`. Source: ADR 0064."""

import logging
from collections.abc import Awaitable, Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Protocol
from urllib.parse import urlsplit

from actors.times import DAY_MS
from service.config.model import Config
from service.config.process import binds_of
from service.config.user_errors import ConfigError
from service.http.addresses import is_loopback
from service.outside.smtp import smtp_server

log = logging.getLogger(__name__)

EXPORTER = "opentelemetry-exporter-otlp-proto-http"
"""The package of the extra `otel` that brings the others."""

NO_SELLER = (
    'billing.mode is "live", and billing.seller_name is empty: invoices name no seller, and an issued invoice cannot be '
    "changed; set billing.seller_name, billing.seller_address and billing.seller_tax_id"
)


TAX_OF_NOBODY = (
    'billing.mode is "live", and billing.tax_percent is set, but not whose tax it is: an invoice with a tax needs the name '
    "and the address of who owes it; set billing.seller_name and billing.seller_address"
)


NO_TERMS = (
    'billing.mode is "live", and {} empty: sponsors could not read what they agree to, or whom to ask; set site.terms_url, '
    "site.privacy_url and site.contact"
)


class ModeIdentity(Protocol):
    """Stores the billing mode of a database."""

    def claim_billing_mode(self, mode: str) -> Awaitable[str]: ...


def is_local(host: str) -> bool:
    """Whether a host name or address means this machine: localhost and names below it (RFC 6761), 127.0.0.0/8 or ::1."""
    name = host.strip("[]").lower()
    return name == "localhost" or name.endswith(".localhost") or is_loopback(name)


def is_public(base_url: str) -> bool:
    """Whether a base URL is meant for other machines. An empty one is not: it is the address of the listener."""
    return bool(base_url) and not is_local(urlsplit(base_url).hostname or "")


def host_of(address: str) -> str:
    """The host of HOST:PORT, or of a Host header, whose port may be missing."""
    if address.startswith("["):
        return address.partition("]")[0] + "]"
    return address.rpartition(":")[0] or address


def local_url(config: Config) -> str:
    """The address of the service on this machine, as far as its configuration states it."""
    return f"http://{binds_of(config.server.bind)[0]}"


def binds_local(setting: str) -> bool:
    """Whether all addresses of `server.bind` or `tls.bind` are reached from this machine only."""
    return all(is_local(host_of(bind)) for bind in binds_of(setting))


def for_this_machine(config: Config) -> bool:
    """Whether no SMTP server is configured, and all addresses of the service are local: it shows its mails."""
    server = config.server
    local = binds_local(server.bind) and binds_local(config.tls.bind) and not is_public(server.base_url)
    return local and not config.mail.smtp_url


def clock_obstacle(config: Config) -> str:
    """Why the clock of this service may not be moved; empty if it may (ADR 0112)."""
    obstacles = {
        'billing.mode is "live"': config.billing.mode == "live",
        "database.url is set": config.database.url,
        "server.workers is more than 1": config.server.workers > 1,
        "others can reach the service, or mail.smtp_url is set": not for_this_machine(config),
    }
    return next((words for words, stands in obstacles.items() if stands), "")


def refuse_moved_clock(config: Config, ahead_ms: int) -> None:
    """Raise `ConfigError` if the clock of the database was moved, and this configuration is not for developers."""
    obstacle = clock_obstacle(config)
    if ahead_ms and obstacle:
        raise ConfigError(
            f"{moved_words(ahead_ms)}, for development only, and {obstacle}: use another data directory or database, or "
            "the configuration under which the clock was moved"
        )


def moved_words(ahead_ms: int) -> str:
    return f"the clock of this database was moved {ahead_ms / DAY_MS:.1f} days ahead at /dev/clock"


def refuse_unsafe(config: Config) -> None:
    """Raise `ConfigError` if nobody should be served with this configuration."""
    refuse_unreadable_mail(config)
    if config.billing.mode == "live" and not config.mail.smtp_url:
        raise ConfigError(
            'billing.mode is "live", and mail.smtp_url is empty: sponsors could not sign in. Set mail.smtp_url'
        )
    for line in _about_invoices(config):
        log.warning("%s", line)
    if not is_public(config.server.base_url) or config.mail.smtp_url:
        return
    if not config.server.allow_unsafe_public:
        raise ConfigError(
            f"server.base_url is public ({config.server.base_url}), and mail.smtp_url is empty: nobody can sign in. "
            "Set mail.smtp_url, or server.allow_unsafe_public = true for a trial"
        )
    log.warning(
        "server.allow_unsafe_public is true: the service is public, and its mails, with codes that sign people in, go to "
        "this log"
    )


def _about_invoices(config: Config) -> Iterator[str]:
    """The problems of invoices of real money. They stop no start: a live service of an earlier release had no seller."""
    billing = config.billing
    if billing.mode != "live":
        return
    if not billing.seller_name:
        yield NO_SELLER
    if billing.tax_percent and not (billing.seller_name and billing.seller_address):
        yield TAX_OF_NOBODY


def missing_documents(config: Config) -> list[str]:
    """The settings about terms, privacy and contact that live billing needs and that are empty."""
    needed = ("terms_url", "privacy_url", "contact") if config.billing.mode == "live" else ()
    return [f"site.{name}" for name in needed if not getattr(config.site, name)]


def refuse_unreadable_mail(config: Config) -> None:
    """Raise `ConfigError` if `mail.smtp_url` names no server."""
    try:
        if config.mail.smtp_url:
            smtp_server(config.mail.smtp_url)
    except ValueError as error:
        raise ConfigError(str(error)) from None


def refuse_untraced(config: Config, needed: str = EXPORTER) -> None:
    """Raise `ConfigError` if spans are to be sent and the package that sends them is not installed."""
    if not config.tracing.otlp_url:
        return
    try:
        version(needed)
    except PackageNotFoundError:
        raise ConfigError(
            f'tracing.otlp_url is set, and {needed} is not installed: install this package with its extra "otel" (see '
            "docs/monitoring.md), or leave tracing.otlp_url empty"
        ) from None


async def refuse_other_mode(config: Config, identity: ModeIdentity) -> None:
    """Raise `ConfigError` if the database is used with another billing mode; a new database gets this one."""
    stored = await identity.claim_billing_mode(config.billing.mode)
    if stored != config.billing.mode:
        raise ConfigError(other_mode(config, stored))


def other_mode(config: Config, stored: str) -> str:
    return (
        f'billing.mode is "{config.billing.mode}", but this database is used in {stored} mode: set billing.mode = '
        f'"{stored}", or stop all nodes and run set-billing-mode {config.billing.mode}'
    )


def notes(config: Config) -> list[str]:
    """The notes of `doctor` about the configuration, which need not be mistakes."""
    server = config.server
    if not is_public(server.base_url) or server.ops_bind:
        return []
    return [
        f"{server.base_url}/metrics is public: anybody can read the load of the service; set server.ops_bind to serve it at "
        "a private address only, or block it in the proxy"
    ]


def problems(config: Config) -> list[str]:
    """Return the problems that `doctor` reports about the configuration alone."""
    server = config.server
    lines = []
    for refuse in (refuse_unreadable_mail, refuse_untraced):
        try:
            refuse(config)
        except ConfigError as error:
            lines.append(str(error))
    lines += _about_invoices(config)
    if missing := missing_documents(config):
        lines.append(NO_TERMS.format(f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'}"))
    if not is_public(server.base_url):
        return lines
    if not config.mail.smtp_url:
        lines.append(
            "server.base_url is public and mail.smtp_url is empty: codes are written to the log, and not mailed"
        )
    if server.base_url.startswith("http:"):
        lines.append("server.base_url is http: keys and sessions cross the network unencrypted; use https")
    if not server.trusted_proxies and binds_local(server.bind) and not config.tls.bind:
        lines.append(
            "server.bind is reached from this machine only, so a proxy must be in front of it, and server.trusted_proxies "
            "is empty: all visitors share the limits of one address; set it to the proxy's address"
        )
    return lines
