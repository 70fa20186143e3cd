"""The configuration model. Its validators check the relations between sections."""

from typing import Self

from pydantic import model_validator

from service.config.bounds import Section, at_most, below
from service.config.process import Actors, Backup, DatabaseSection, Http, Log, Nodes, Server, Tls, Tracing
from service.config.sections import (
    Account,
    Admin,
    Advertise,
    Billing,
    Bookings,
    Campaigns,
    Catalog,
    Claim,
    Device,
    Events,
    Keyless,
    Keys,
    Mail,
    Mint,
    Pages,
    Passkeys,
    Placements,
    Retention,
    Sessions,
    SiteSection,
    Tiers,
    Webhooks,
)
from service.outside.webauthn import rp_id_of


class Config(Section):
    """All settings, and the checks of relations between sections."""

    server: Server
    tls: Tls
    database: DatabaseSection
    backup: Backup
    nodes: Nodes
    log: Log
    tracing: Tracing
    mail: Mail
    tiers: Tiers
    keyless: Keyless
    placements: Placements
    mint: Mint
    claim: Claim
    keys: Keys
    sessions: Sessions
    passkeys: Passkeys
    device: Device
    pages: Pages
    site: SiteSection
    advertise: Advertise
    admin: Admin
    billing: Billing
    bookings: Bookings
    account: Account
    retention: Retention
    campaigns: Campaigns
    webhooks: Webhooks
    events: Events
    catalog: Catalog
    actors: Actors
    http: Http

    @model_validator(mode="after")
    def _relations(self) -> Self:
        database, actors, tiers = self.database, self.actors, self.tiers
        command_seconds = database.command_seconds
        below("database.lock_seconds", database.lock_seconds, "database.statement_seconds", database.statement_seconds)
        below("database.statement_seconds", database.statement_seconds, "database.command_seconds", command_seconds)
        below("database.command_seconds", command_seconds, "actors.drain_seconds", actors.drain_seconds)
        below("database.command_seconds", command_seconds, "actors.answer_seconds", actors.answer_seconds)
        # An actor must time out before HTTP does, because it compensates for late commits.
        below("actors.answer_seconds", actors.answer_seconds, "http.answer_seconds", self.http.answer_seconds)
        below("events.answer_seconds", self.events.answer_seconds, "http.answer_seconds", self.http.answer_seconds)
        if self.backup.every_hours and database.url:
            raise ValueError(
                "backup.every_hours works on the embedded database only, and database.url is set: set it to 0, and back up "
                "your database by its own means, as docs/backups.md says"
            )
        at_most("actors.batch", actors.batch, "actors.mailbox", actors.mailbox)
        at_most("events.batch", self.events.batch, "events.mailbox", self.events.mailbox)
        at_most("tiers.anonymous.daily", tiers.anonymous.daily, "tiers.anonymous.lifetime", tiers.anonymous.lifetime)
        for name, tier in (("claimed", tiers.claimed), ("upgraded", tiers.upgraded)):
            at_most(f"tiers.{name}.daily", tier.daily, f"tiers.{name}.monthly", tier.monthly)
        at_most("mint.per_hour", self.mint.per_hour, "mint.per_hour_total", self.mint.per_hour_total)
        webhooks, keep_days = self.webhooks, self.retention.webhook_deliveries_days
        longest_minutes = webhooks.retry_days * 24 * 60
        at_most(
            "webhooks.retry_max_minutes", webhooks.retry_max_minutes, "webhooks.retry_days in minutes", longest_minutes
        )
        below("webhooks.retry_days", webhooks.retry_days, "retention.webhook_deliveries_days", keep_days)
        if self.admin.require_passkey and rp_id_of(self.server.base_url) is None:
            raise ValueError(
                "admin.require_passkey needs server.base_url with https and a host name, or http://localhost: "
                "browsers offer no passkeys elsewhere"
            )
        per_address = self.http.connections_per_address
        at_most("http.connections_per_address", per_address, "http.connections", self.http.connections)
        return self
