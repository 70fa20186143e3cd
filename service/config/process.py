"""The sections of the configuration about a process: its addresses, database, nodes, log, actors and connections."""

import sys
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from service.config.bounds import Contact, Count, OptionalOrigin, Origin, Seconds, Section, at_most, format_of
from service.http.addresses import Network

BIND = r"(\[[0-9A-Fa-f:.]+\]|[^:\s]+):[0-9]{1,5}"
A_BIND = "must be HOST:PORT, such as 127.0.0.1:8080"
BINDS = f"{BIND}( *, *{BIND})*"
SOME_BINDS = f"{A_BIND}, or several, separated by commas"
Binds = Annotated[str, format_of(BINDS, SOME_BINDS)]
OptionalBinds = Annotated[str, format_of(f"({BINDS})?", SOME_BINDS)]
OptionalBind = Annotated[str, format_of(f"({BIND})?", A_BIND)]


class Server(Section):
    bind: Binds
    ops_bind: OptionalBind
    base_url: OptionalOrigin
    security_contact: Contact
    workers: Annotated[int, Field(ge=1, le=64)]
    engine: Literal["own", "hypercorn"]
    data_dir: str
    trusted_proxies: list[Network]
    user: str
    mcp_origins: list[Literal["*"] | Origin]
    allow_unsafe_public: bool
    hsts_seconds: Annotated[int, Field(ge=0, le=63_072_000)]
    secret: str
    drain_seconds: Annotated[float, Field(ge=0, le=3_600)]
    graceful_seconds: Seconds

    @model_validator(mode="after")
    def _check(self) -> Self:
        for name in ("bind", "ops_bind"):
            _check_port(f"server.{name}", getattr(self, name))
        if self.secret and len(self.secret) < 32:
            raise ValueError("server.secret is shorter than 32 characters")
        if self.workers > 1 and sys.platform != "linux":
            raise ValueError("server.workers: more than 1 needs Linux, which distributes connections among them")
        return self


class Tls(Section):
    bind: OptionalBinds
    certificate: str
    key: str

    @model_validator(mode="after")
    def _check(self) -> Self:
        given = [bool(value) for value in (self.bind, self.certificate, self.key)]
        if any(given) and not all(given):
            raise ValueError("tls: bind, certificate and key belong together: all three or none")
        _check_port("tls.bind", self.bind)
        return self


class DatabaseSection(Section):
    url: Annotated[
        str, format_of(r"(postgres(ql)?://\S+)?", "must begin with postgresql:// or postgres://, and have no spaces")
    ]
    connections: Annotated[int, Field(ge=2, le=500)]
    waiters: Count
    wait_seconds: Seconds
    lock_seconds: Seconds
    statement_seconds: Seconds
    command_seconds: Seconds
    allow_unsafe: bool
    distributed: bool

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.distributed and not self.url:
            raise ValueError("database.distributed needs database.url: the embedded Postgres has no Citus extension")
        return self


class Backup(Section):
    every_hours: Annotated[int, Field(ge=0, le=365 * 24)]
    keep: Annotated[int, Field(ge=1, le=1_000)]
    directory: str


class Nodes(Section):
    beat_seconds: Seconds
    live_seconds: Seconds
    keep_seconds: Seconds

    @model_validator(mode="after")
    def _check(self) -> Self:
        # One lost heartbeat must not drop a node, and a node must not forget the others before they forget it.
        at_most("twice nodes.beat_seconds", 2 * self.beat_seconds, "nodes.live_seconds", self.live_seconds)
        at_most("nodes.live_seconds", self.live_seconds, "nodes.keep_seconds", self.keep_seconds)
        return self


class Log(Section):
    level: Literal["debug", "info", "warning", "error"]
    format: Literal["text", "json"]


class Tracing(Section):
    otlp_url: Annotated[str, format_of(r"(https?://[^/\s]\S*)?", "must be http:// or https:// and a host")]
    sample: Annotated[float, Field(ge=0, le=1)]
    service_name: Annotated[str, Field(min_length=1, max_length=100)]
    queue: Count
    timeout_seconds: Seconds


class Actors(Section):
    mailbox: Count
    batch: Count
    answer_seconds: Seconds
    drain_seconds: Seconds


class Http(Section):
    body_bytes: Annotated[int, Field(ge=1_024, le=16 * 1024 * 1024)]
    answer_seconds: Seconds
    head_seconds: Seconds
    request_seconds: Seconds
    stall_seconds: Seconds
    connections_per_address: Count
    connections: Count


def binds_of(setting: str) -> list[str]:
    """The addresses of `server.bind` or `tls.bind`, each HOST:PORT."""
    return [each.strip() for each in setting.split(",")] if setting else []


def _check_port(name: str, setting: str) -> None:
    """The system would use the lower 16 bits of a larger number."""
    for bind in binds_of(setting):
        if int(bind.rpartition(":")[2]) > 65_535:
            raise ValueError(f"{name}: there is no port above 65535, as in {bind}")
