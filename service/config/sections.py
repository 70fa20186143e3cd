"""The sections of the configuration about what the service offers, each with the checks of its own settings."""

from hashlib import sha256
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from actors.events.sites import MAX_SITES, host_of
from service.config.bounds import Contact, Count, Factor, OptionalOrigin, Seconds, Section, at_most, format_of
from service.http.addresses import Network
from service.schemas.account import MAX_DAYS
from service.schemas.events import EVENTS_IN_A_REQUEST
from service.schemas.keys import Email
from service.schemas.urls import Url, web_address
from service.tokens.scanners import public_key

ADDRESS = r"([^\x00-\x1f\x7f]{0,100}(\n[^\x00-\x1f\x7f]{0,100}){0,7})?"
PREFIX, AN_INVOICE_PREFIX = (
    r"(?!TEST-)[A-Z0-9/-]{0,20}",
    "must be at most 20 of A-Z, 0-9, / and -, and not begin with TEST-, which is of test mode",
)


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


class Placements(Section):
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


def _public_key(pem: str) -> str:
    public_key(pem)
    return pem


class ScannerKey(Section):
    id: Annotated[str, format_of(r"[!-~]{1,200}", "must be 1 to 200 ASCII characters without spaces")]
    pem: Annotated[str, Field(max_length=2_000), AfterValidator(_public_key)]


class Keys(Section):
    full_per_account: Annotated[int, Field(ge=1, le=1_000)]
    scoped_per_account: Annotated[int, Field(ge=1, le=1_000)]
    per_day: Annotated[int, Field(ge=1, le=1_000)]
    remember_seconds: Annotated[int, Field(ge=1, le=10)]
    remember_keys: Count
    uses_seconds: Seconds
    unknown_per_minute: Count
    scanner_keys: Annotated[list[ScannerKey], Field(max_length=20)]


class Sessions(Section):
    days: Annotated[int, Field(ge=1, le=365)]
    touch_seconds: Annotated[int, Field(ge=1, le=24 * 3_600)]
    per_account: Annotated[int, Field(ge=1, le=500)]
    starts_per_hour: Count
    completions_per_hour: Count


class Passkeys(Section):
    per_account: Annotated[int, Field(ge=1, le=100)]
    challenge_seconds: Annotated[int, Field(ge=30, le=3_600)]
    sign_in_seconds: Annotated[int, Field(ge=60, le=3_600)]
    fresh_seconds: Annotated[int, Field(ge=60, le=24 * 3_600)]


class Device(Section):
    expires_seconds: Annotated[int, Field(ge=60, le=24 * 3_600)]
    interval_seconds: Annotated[int, Field(ge=1, le=60)]
    starts_per_hour: Count
    per_hour_total: Count
    total_factor: Factor
    wrong_codes: Annotated[int, Field(ge=1, le=100)]
    lock_minutes: Annotated[int, Field(ge=1, le=24 * 60)]


class Pages(Section):
    per_minute: Count


SHORT = r"[^\x00-\x1f\x7f]{0,60}"


class SiteLink(Section):
    label: Annotated[str, Field(min_length=1), format_of(SHORT, "must be one line of at most 60 characters")]
    url: Url


OptionalUrl = Annotated[str, AfterValidator(lambda url: url and web_address(url))]


class SiteSection(Section):
    name: Annotated[str, AfterValidator(str.strip), format_of(SHORT, "must be one line of at most 60 characters")]
    contact: Contact
    links: Annotated[tuple[SiteLink, ...], Field(max_length=10)]
    terms_url: OptionalUrl
    terms_version: Annotated[str, format_of(r"[!-~]{0,40}", "must be at most 40 ASCII characters without spaces")]
    privacy_url: OptionalUrl
    ads_per_side: Annotated[int, Field(ge=1, le=6)]

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.terms_version and not self.terms_url:
            raise ValueError("site.terms_version needs site.terms_url")
        return self

    @property
    def title(self) -> str:
        """The name of the site on its pages."""
        return self.name or "Catalog"

    @property
    def terms(self) -> str:
        """The version of the terms: the one that is configured, or a short hash of their address; empty without terms."""
        if not self.terms_url:
            return ""
        return self.terms_version or sha256(self.terms_url.encode()).hexdigest()[:12]

    @property
    def footer(self) -> list[tuple[str, str]]:
        """Label and address of each link about the site, for the footer of pages and mails."""
        known = [("Terms", self.terms_url), ("Privacy", self.privacy_url), ("Contact", self.contact)]
        return [(label, url) for label, url in known if url] + [(each.label, each.url) for each in self.links]


class Advertise(Section):
    audience: Annotated[
        str,
        AfterValidator(str.strip),
        format_of(r"[^\x00-\x09\x0b-\x1f\x7f]{0,2000}", "must be text of at most 2000 characters, without tabs"),
    ]


class Admin(Section):
    emails: Annotated[list[Email], Field(max_length=100)]
    require_passkey: bool


LIVE_KEYS = ("sk_live_", "rk_live_")
TEST_KEYS = ("sk_test_", "rk_test_")


Line = Annotated[str, format_of(r"[^\x00-\x1f\x7f]{0,200}", "must be one line of at most 200 characters")]


def _three_places(percent: float) -> float:
    if round(percent, 3) != percent:
        raise ValueError("must have at most 3 decimal places")
    return percent


class Billing(Section):
    mode: Literal["test", "live"]
    stripe_secret_key: str
    stripe_webhook_secret: str
    stripe_url: OptionalOrigin
    timeout_seconds: Seconds
    refund_retry_seconds: Seconds
    seller_name: Line
    seller_address: Annotated[str, format_of(ADDRESS, "must have at most 8 lines of at most 100 characters")]
    seller_tax_id: Line
    invoice_prefix: Annotated[str, format_of(PREFIX, AN_INVOICE_PREFIX)]
    tax_percent: Annotated[float, Field(ge=0, le=100), AfterValidator(_three_places)]
    tax_name: Annotated[str, format_of(r"[^\x00-\x1f\x7f]{1,40}", "must be one line of 1 to 40 characters")]

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.mode == "live":
            for name in ("stripe_secret_key", "stripe_webhook_secret"):
                if not getattr(self, name):
                    raise ValueError(f"billing.{name} is needed in live mode")
        wanted = LIVE_KEYS if self.mode == "live" else TEST_KEYS
        if self.stripe_secret_key and not self.stripe_secret_key.startswith(wanted):
            raise ValueError(f"billing.stripe_secret_key must begin with {' or '.join(wanted)} in {self.mode} mode")
        return self


class Bookings(Section):
    hold_minutes: Annotated[int, Field(ge=1, le=24 * 60)]
    open_holds: Count
    holds_per_day: Count
    cooldown_minutes: Annotated[int, Field(ge=0, le=7 * 24 * 60)]
    horizon_weeks: Annotated[int, Field(ge=1, le=520)]
    refund_unshown: bool
    sweep_seconds: Seconds
    check_seconds: Annotated[float, Field(gt=0, le=1)]


class Account(Section):
    changes_per_day: Count
    undo_days: Annotated[int, Field(ge=1, le=90)]
    exports_per_hour: Count


class Retention(Section):
    """Days that rows stay after their end. The lower bounds are what other rules and pages still need."""

    unclaimed_keys_days: Annotated[int, Field(ge=1, le=3_650)]
    ended_keys_days: Annotated[int, Field(ge=30, le=3_650)]
    unpaid_bookings_days: Annotated[int, Field(ge=30, le=3_650)]
    payment_events_days: Annotated[int, Field(ge=35, le=3_650)]
    usage_days: Annotated[int, Field(ge=MAX_DAYS, le=3_650)]
    audit_days: Annotated[int, Field(ge=90, le=3_650)]
    sessions_days: Annotated[int, Field(ge=1, le=3_650)]
    mails_days: Annotated[int, Field(ge=1, le=365)]
    webhook_deliveries_days: Annotated[int, Field(ge=7, le=365)]
    retired_entries_days: Annotated[int, Field(ge=30, le=3_650)]

    @model_validator(mode="after")
    def _check(self) -> Self:
        audit_days = self.audit_days
        at_most("retention.unpaid_bookings_days", self.unpaid_bookings_days, "retention.audit_days", audit_days)
        return self


class Webhooks(Section):
    per_account: Annotated[int, Field(ge=1, le=100)]
    allow_networks: list[Network]
    sends: Annotated[int, Field(ge=4, le=256)]
    timeout_seconds: Annotated[float, Field(gt=0, le=30)]
    retry_seconds: Annotated[int, Field(ge=1, le=3_600)]
    retry_max_minutes: Annotated[int, Field(ge=60, le=7 * 24 * 60)]
    retry_days: Annotated[int, Field(ge=1, le=30)]


class Campaigns(Section):
    per_account: Count
    pending_per_account: Count

    @model_validator(mode="after")
    def _check(self) -> Self:
        pending = self.pending_per_account
        at_most("campaigns.pending_per_account", pending, "campaigns.per_account", self.per_account)
        return self


def _site(host: str) -> str:
    if host_of(f"https://{host}") != host:
        raise ValueError(
            "must be a host name in lower case with at least one dot and no port, such as blog.example.com"
        )
    return host


Site = Annotated[str, AfterValidator(_site)]


class Events(Section):
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
    remember: Annotated[int, Field(ge=1, le=1_000_000)]
    count_sites: bool
    sites: Annotated[list[Site], Field(max_length=MAX_SITES)]
    site_networks: Annotated[int, Field(ge=1, le=1_000)]


class Catalog(Section):
    check_seconds: Annotated[float, Field(gt=0, le=1)]
    searches: Count
    search_waiters: Count
    synonyms: str
