"""The tables whose rows are records: a field of a dataclass is a column, and no statement names it.

A new field is written, updated and read as soon as its column exists. Columns in `fixed` are written once and never updated.
"""

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from actors.accounts.messages import Deletion, MailChoices
from actors.bookings.invoices import Invoice
from actors.bookings.records import (
    BillingDetails,
    Booking,
    Campaign,
    IdempotencyRecord,
    PaymentReport,
    Slot,
    Sponsor,
)
from actors.bookings.reports import SharedReport
from actors.catalog.submissions import Submission
from actors.devices.messages import Device, FreshKey, Guesses
from actors.keys.authorizations import Authorization
from actors.keys.messages import Claim, Key
from actors.mail.messages import QueuedMessage
from actors.sessions.messages import Session, SignIn, SignInLink
from actors.sessions.second_factor import Challenge, Passkey, PendingSignIn
from actors.shared.code_mails import CodeMailCount
from actors.values import AcceptedTerms, Account, AuditRecord, OutboxMessage, Tenant
from actors.webhooks.messages import Delivery, Webhook
from storage.connection.pool import Connection
from storage.rows.columns import SLICE, Column, columns_of, sliced, write


class Table:
    """A table, the dataclass of its rows, and the statements that write them, which are built once.

    `key` are the columns that identify a row, `casts` the types of columns whose parameters are texts, `constants` what is
    inserted beside the fields, and `also` what an update sets beside them.
    """

    def __init__(
        self,
        name: str,
        kind: Any,
        key: str,
        fixed: str = "",
        *,
        casts: Mapping[str, str] | None = None,
        constants: Mapping[str, str] | None = None,
        also: str = "",
    ) -> None:
        self.name, self.kind, self.key = name, kind, key.split()
        self.columns = columns_of(kind)
        assert {column.name for column in self.columns} >= {*self.key, *fixed.split()}, name
        self.changing = [column for column in self.columns if column.name not in {*self.key, *fixed.split()}]
        self._casts, self._constants = casts or {}, constants or {}
        sets = (f"{column.name} = excluded.{column.name}" for column in self.changing)
        self.inserting = self._insert()
        known = f"do update set {', '.join(sets)}" if self.changing else "do nothing"
        self.saving = f"{self.inserting} on conflict ({', '.join(self.key)}) {known}"
        self.updating = self._update(also)

    def names(self, alias: str = "") -> str:
        """The columns as a list for `select`, each with an alias of the table if it has one."""
        return ", ".join(f"{alias}.{column.name}" if alias else column.name for column in self.columns)

    async def insert(self, connection: Connection, records: Iterable[Any]) -> None:
        """Insert rows, in one order on all nodes. If one exists, the unique violation makes the batch run again."""
        await self._write(connection, self.inserting, self.columns, records)

    async def save(self, connection: Connection, records: Iterable[Any]) -> None:
        """Insert rows, or update the columns that can change, if any can."""
        await self._write(connection, self.saving, self.columns, records)

    async def update(self, connection: Connection, records: Iterable[Any]) -> None:
        """Update the columns that can change, of locked rows."""
        await self._write(connection, self.updating, [*self._keys(), *self.changing], records)

    async def _write(
        self, connection: Connection, statement: str, columns: Sequence[Column], records: Iterable[Any]
    ) -> None:
        every = list(records)
        if len(every) > SLICE:
            every.sort(key=attrgetter(*(column.attribute for column in self._keys())))
        for rows in sliced(every):
            await write(connection, statement, [column.array(rows) for column in columns])

    def _keys(self) -> list[Column]:
        return [column for column in self.columns if column.name in self.key]

    def _insert(self) -> str:
        targets = ", ".join([*(column.name for column in self.columns), *self._constants])
        values = ", ".join([*(self._value(column) for column in self.columns), *self._constants.values()])
        rows = _parameters("made", self.columns)
        return f"insert into {self.name} ({targets}) select {values} from {rows} order by {', '.join(self.key)}"

    def _update(self, also: str) -> str:
        sets = ", ".join(f"{column.name} = {self._value(column, 'changed.')}" for column in self.changing) + also
        same = " and ".join(f"{self.name}.{column} = changed.{column}" for column in self.key)
        return (
            f"update {self.name} set {sets} from {_parameters('changed', [*self._keys(), *self.changing])} where {same}"
        )

    def _value(self, column: Column, prefix: str = "") -> str:
        value = column.value.format(f"{prefix}{column.name}")
        return f"{value}::{self._casts[column.name]}" if column.name in self._casts else value


def _parameters(alias: str, columns: Iterable[Column]) -> str:
    """The arrays of a statement as rows."""
    types = ", ".join(f"${number}::{column.type}[]" for number, column in enumerate(columns, 1))
    return f"unnest({types}) as {alias} ({', '.join(column.name for column in columns)})"


TENANTS = Table("tenants", Tenant, "id")
ACCOUNTS = Table("accounts", Account, "email", "tenant_id created_ms")
ACCEPTED_TERMS = Table("accepted_terms", AcceptedTerms, "tenant_id version", "accepted_ms")
KEYS = Table("api_keys", Key, "id", "prefix kind created_ms scopes origin_id generation")
AUTHORIZATIONS = Table(
    "authorizations",
    Authorization,
    "id",
    "code_hash client_hash client_name redirect_uri challenge resource scopes email session_id created_ms key_expires_ms",
)
FRESH_KEYS = Table("api_keys", FreshKey, "id", constants={"kind": "'user'"})
CLAIMS = Table("claims", Claim, "token_hash", "key_id created_ms")
CODE_MAIL_COUNTS = Table("letter_counts", CodeMailCount, "id")
SIGN_INS = Table("sign_in_codes", SignIn, "email browser")
SIGN_IN_LINKS = Table("sign_in_links", SignInLink, "token_hash", "email created_ms expires_ms")
SESSIONS = Table("sessions", Session, "id", "token_hash email agent created_ms")
PENDING_SIGN_INS = Table("pending_sign_ins", PendingSignIn, "id", "token_hash email agent created_ms")
CHALLENGES = Table("passkey_challenges", Challenge, "holder_id")
PASSKEYS = Table("passkeys", Passkey, "id", "email credential_id public_key created_ms")
DEVICES = Table("devices", Device, "id", "code_hash user_code agent address created_ms expires_ms")
GUESSES = Table("device_guesses", Guesses, "session_id")
SPONSORS = Table("sponsors", Sponsor, "tenant_id", "id created_ms demo")
BILLING_DETAILS = Table("billing_details", BillingDetails, "tenant_id")
SHARED_REPORTS = Table(
    "shared_reports",
    SharedReport,
    "id",
    "tenant_id token_hash first_day last_day campaign_id slot_id costs created_ms",
)
SLOTS = Table("slots", Slot, "id", "created_ms demo")
DEMO_SLOTS = Table("slots", Slot, "id")
CAMPAIGNS = Table("campaigns", Campaign, "id", "tenant_id created_ms demo")
BOOKINGS = Table(
    "bookings",
    Booking,
    "id",
    "tenant_id campaign_id slot_id slot_name week_start_ms weeks amount_cents currency mode created_ms package_kind "
    "package_description demo",
)
BOOKING_KEYS = Table("booking_keys", IdempotencyRecord, "tenant_id operation key")
PAYMENT_REPORTS = Table("payment_reports", PaymentReport, "id")
INVOICES = Table("invoices", Invoice, "number")
WEBHOOKS = Table(
    "webhooks",
    Webhook,
    "id",
    "tenant_id url host events created_ms",
    also=", due_ms = case when changed.status = 'enabled' then webhooks.due_ms end",
)
DELIVERIES = Table(
    "webhook_deliveries",
    Delivery,
    "seq",
    "id webhook_id event_id subject_id type body created_ms attempts first_ms",
)
SUBMISSIONS = Table("catalog_submissions", Submission, "id", "tenant_id kind slug name entry created_ms base")
MAIL_CHOICES = Table("mail_choices", MailChoices, "email")
DELETIONS = Table("account_deletions", Deletion, "tenant_id", "email requested_ms")
OUTBOX = Table("outbox", OutboxMessage, "id", casts={"facts": "json"}, constants={"due_ms": "created_ms"})
QUEUE = Table("outbox", QueuedMessage, "id", casts={"facts": "json"})
AUDIT = Table("audit", AuditRecord, "id", casts={"changes": "jsonb"})

TABLES = [table for table in globals().values() if isinstance(table, Table)]
