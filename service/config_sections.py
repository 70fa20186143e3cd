"""The sections of the configuration, each with the checks of its own settings."""

import sys
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from service.http.addresses import Network
from service.schemas.events import EVENTS_IN_A_REQUEST
from service.schemas.keys import Email

Count = Annotated[int, Field(ge=1, le=1_000_000_000)]
BIND = r"(\[[0-9A-Fa-f:.]+\]|[^:\s]+):\d{1,5}"
OPTIONAL_BIND = f"^({BIND})?$"
Seconds = Annotated[float, Field(gt=0, le=3_600)]
Factor = Annotated[int, Field(ge=1, le=1_000)]


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Server(Section):
    bind: Annotated[str, Field(pattern=f"^{BIND}$")]
    ops_bind: Annotated[str, Field(pattern=OPTIONAL_BIND)]
    base_url: Annotated[str, Field(pattern=r"^(https?://[^/\s]+)?$")]
    workers: Annotated[int, Field(ge=1, le=64)]
    trusted_proxies: list[Network]
    user: str
    secret: str
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
    bind: Annotated[str, Field(pattern=OPTIONAL_BIND)]
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
    url: Annotated[str, Field(pattern=r"^(postgres(ql)?://\S+)?$")]
    os_user: str
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


class Mail(Section):
    smtp_url: str
    notices_per_hour: Count
    sender: Annotated[str, Field(min_length=3, max_length=200, pattern=r"^[^\r\n]+$")]
    timeout_seconds: Seconds
    per_hour_total: Count
    total_factor: Factor


class AnonymousTier(Section):
    lifetime: Count
    daily: Count
    per_minute: Count
    usecase_reads: Count
    expires_hours: Annotated[int, Field(ge=1, le=24 * 365)]


class PaidTier(Section):
    monthly: Count
    daily: Count
    per_minute: Count


class Tiers(Section):
    anonymous: AnonymousTier
    claimed: PaidTier
    upgraded: PaidTier


class Keyless(Section):
    per_minute: Count


class Mint(Section):
    per_hour: Count
    per_hour_total: Count
    total_factor: Factor


class Claim(Section):
    starts_per_hour: Count
    completions_per_hour: Count
    code_minutes: Annotated[int, Field(ge=1, le=60)]
    code_attempts: Annotated[int, Field(ge=1, le=20)]
    code_pause_seconds: Annotated[int, Field(ge=0, le=3_600)]
    codes_per_day: Count
    letters_per_email: Count
    guesses_per_email: Count


class Keys(Section):
    full_per_account: Annotated[int, Field(ge=1, le=1_000)]
    scoped_per_account: Annotated[int, Field(ge=1, le=1_000)]
    remember_seconds: Annotated[int, Field(ge=1, le=10)]
    remember_keys: Count
    uses_seconds: Seconds
    unknown_per_minute: Count


class Sessions(Section):
    days: Annotated[int, Field(ge=1, le=365)]
    touch_seconds: Annotated[int, Field(ge=1, le=24 * 3_600)]
    per_account: Annotated[int, Field(ge=1, le=500)]
    starts_per_hour: Count
    completions_per_hour: Count


class Device(Section):
    expires_seconds: Annotated[int, Field(ge=60, le=24 * 3_600)]
    interval_seconds: Annotated[int, Field(ge=1, le=60)]
    starts_per_hour: Count
    wrong_codes: Annotated[int, Field(ge=1, le=100)]
    lock_minutes: Annotated[int, Field(ge=1, le=24 * 60)]


class Pages(Section):
    per_minute: Count


class Admin(Section):
    emails: Annotated[list[Email], Field(max_length=100)]


class Billing(Section):
    mode: Literal["test", "live"]
    stripe_secret_key: str
    stripe_webhook_secret: str
    stripe_url: Annotated[str, Field(pattern=r"^(https?://[^/\s]+)?$")]
    timeout_seconds: Seconds
    refund_retry_seconds: Seconds

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.mode == "live":
            for name in ("stripe_secret_key", "stripe_webhook_secret"):
                if not getattr(self, name):
                    raise ValueError(f"billing.{name} is needed in live mode")
        return self


class Bookings(Section):
    hold_minutes: Annotated[int, Field(ge=1, le=24 * 60)]
    open_holds: Count
    horizon_weeks: Annotated[int, Field(ge=1, le=520)]
    sweep_seconds: Seconds
    check_seconds: Annotated[float, Field(gt=0, le=1)]


class Events(Section):
    bucket_hours: Annotated[int, Field(ge=1, le=24)]
    per_minute: Count
    per_booking_per_hour: Annotated[int, Field(ge=0, le=1_000_000_000)]
    exempt_networks: list[Network]
    keep_days: Annotated[int, Field(ge=1, le=3_650)]
    ahead_days: Annotated[int, Field(ge=1, le=60)]
    sweep_seconds: Seconds
    mailbox: Count
    # One transaction must have room for all events of a request.
    batch: Annotated[int, Field(ge=EVENTS_IN_A_REQUEST, le=20_000)]
    answer_seconds: Seconds
    remember: Annotated[int, Field(ge=1, le=10_000_000)]
    shards: Annotated[int, Field(ge=1, le=64)]

    @model_validator(mode="after")
    def _check(self) -> Self:
        if 24 % self.bucket_hours:
            raise ValueError(f"events.bucket_hours: {self.bucket_hours} does not divide a day of 24 hours")
        return self


class Catalog(Section):
    check_seconds: Annotated[float, Field(gt=0, le=1)]
    searches: Count
    search_waiters: Count
    waiters_per_caller: Count
    search_seconds: Seconds
    keyless_search_seconds: Seconds

    @model_validator(mode="after")
    def _check(self) -> Self:
        keyless = self.keyless_search_seconds
        at_most("catalog.keyless_search_seconds", keyless, "catalog.search_seconds", self.search_seconds)
        return self


class Actors(Section):
    mailbox: Count
    batch: Count
    answer_seconds: Seconds
    drain_seconds: Seconds
    failures: Count
    failure_window_seconds: Seconds


class Http(Section):
    body_bytes: Annotated[int, Field(ge=1_024, le=16 * 1024 * 1024)]
    answer_seconds: Seconds
    head_seconds: Seconds
    request_seconds: Seconds
    stall_seconds: Seconds
    connections_per_address: Count
    connections: Count


def _check_port(name: str, bind: str) -> None:
    """The system would use the lower 16 bits of a larger number."""
    if bind and int(bind.rpartition(":")[2]) > 65_535:
        raise ValueError(f"{name}: there is no port above 65535, as in {bind}")


def below(name: str, value: float, other: str, bound: float) -> None:
    if not value < bound:
        raise ValueError(f"{name} ({value:g}) must be below {other} ({bound:g})")


def at_most(name: str, value: float, other: str, bound: float) -> None:
    if not value <= bound:
        raise ValueError(f"{name} ({value:g}) must be at most {other} ({bound:g})")
