"""A service whose days pass at once: the real actors, stores and prunings, under a clock that is moved by hand.

Each day has the traffic of a small service. It repeats every 35 days, so that tables that are pruned repeat their sizes.
"""

import hashlib
import re
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Any

import trio

from actors.accounts.messages import Scheduled
from actors.accounts.state import AccountRules
from actors.accounts.sweeper import EraserLimits
from actors.bookings.records import BillingDetails, BookingView, Content, PaymentState, Side, Slot
from actors.bookings.reports import Days, Only
from actors.bookings.transitions import CampaignMove
from actors.catalog.messages import EntryId
from actors.catalog.messages import Kind as EntryKind
from actors.catalog.submissions import SubmissionSaved, SubmissionStatus
from actors.clock import DAY_MS, HOUR_MS, MINUTE_MS
from actors.devices.actor import StartedLogin
from actors.events.messages import OTHER, Event, Kind
from actors.events.state import EventRules
from actors.kernel.pruner import Pruner, PrunerLimits, Pruning
from actors.kernel.supervision import running
from actors.keys.authorizations import Client
from actors.keys.authorizer import Tokens
from actors.keys.messages import ByAccount, Claimed
from actors.mail.messages import Sent
from actors.retention.state import RetentionRules
from actors.sessions.actor import AwaitedSession, StartedSession, StartedSignIn
from actors.sessions.passkey_actor import Ceremony
from actors.sessions.second_factor import PasskeySaved
from actors.shared.announcements import Topic
from actors.shared.code_mails import Origin
from actors.stores import Stores
from actors.times import WEEK_MS, week_of
from actors.values import Agent, Refused, Scope
from actors.webhooks.messages import Attempt, EventType, Queued, Room, WebhookSaved
from actors.webhooks.sending import Retries, judge_with
from service.config.loading import load
from service.running.assembly import Assembly, Classes, Ports, assemble, prunings
from service.running.limits import Limits
from storage.connection.pool import Database
from storage.postgres.catalog import PostgresCatalog
from storage.postgres.clock import PostgresClock
from storage.postgres.mail import PostgresOutbox
from storage.postgres.nodes import PostgresNodes
from storage.postgres.sites import PostgresSites
from storage.postgres.submissions import PostgresSubmissions
from storage.postgres.visitor_secrets import PostgresVisitorSecrets
from tests.api.authenticator import Authenticator
from tests.api.conformity import BASE_URL
from tests.api.world import NODE, SECRETS, Postbox
from tests.doubles.catalog import MemoryCatalog, PromptCatalog
from tests.doubles.clock import MemoryClock
from tests.doubles.mail import MemoryOutbox
from tests.doubles.nodes import MemoryNodes
from tests.doubles.sites import MemorySites
from tests.doubles.submissions import MemorySubmissions
from tests.doubles.tables import Memory
from tests.doubles.visitor_secrets import MemoryVisitorSecrets
from tests.fakes import HandClock, MemoryDatabase, SeededEntropy
from tests.stores.conftest import stores_in_memory, stores_over

START_MS = week_of(20_000 * DAY_MS)
PERIOD = 35
"""The traffic repeats after so many days: it follows weeks and the days of five."""

RULES = RetentionRules(
    unclaimed_keys_days=5,
    ended_keys_days=7,
    unpaid_bookings_days=7,
    payment_events_days=7,
    usage_days=10,
    audit_days=10,
    sessions_days=7,
    webhook_deliveries_days=7,
    retired_entries_days=7,
    payment_reports_days=7,
    submissions_days=7,
)
"""Lives that fit into one period, so that two periods show what stays."""

BILLING = BillingDetails("", "Acme Ltd", "1 Example Street", "CH")
GROWING = frozenset(
    {"bookings", "booking_keys", "slot_weeks", "delivery_days", "event_filtered", "event_site_counts", "invoices"}
)
"""Tables that keep what was paid for, its idempotency key and invoices, and what was delivered for it."""

GROWING_IN_POSTGRES = GROWING - {"delivery_days"} | {"event_bookings", "event_counts"}
"""The same there, where what was delivered has tables of its own."""

KNOWN_MS = 5 * DAY_MS
"""How long networks are remembered for a mailbox."""

ROOM = Room(free=100, slow_free=100, per_receiver=100, per_account=100)
ORIGIN = Origin("203.0.113.7", "203.0.113.0/24")
OPERATOR = Agent("cli", "uid 0")
CAREFUL = "careful@example.com"
"""Somebody with a passkey, who enters codes and never shows it."""

PEOPLE = tuple(f"person{number}@example.com" for number in range(5))
CONTENT = Content("Headline", "Body", "Go", "https://example.com", "A")


class Unheard:
    """Announcements that nobody awaits."""

    async def listen(self, channel: str, on_topic: Callable[[str], None], on_gap: Callable[[], None]) -> None:
        await trio.sleep_forever()


def stores_in(below: Memory | Database) -> Stores:
    """All stores of a node, in memory or over Postgres."""
    one = stores_in_memory(below) if isinstance(below, Memory) else stores_over(below)
    shared = {each.name: getattr(one, each.name) for each in fields(one) if each.name != "below"}
    if isinstance(below, Memory):
        shared |= {"outbox": MemoryOutbox(below), "catalog": MemoryCatalog(below)}
        shared |= {"submissions": MemorySubmissions(below), "clock": MemoryClock(below)}
        shared |= {"sites": MemorySites(below), "nodes": MemoryNodes(below)}
        shared |= {"visitor_secrets": MemoryVisitorSecrets(below)}
        return Stores(database=MemoryDatabase(trio.lowlevel.checkpoint), announcements=Unheard(), **shared)
    shared |= {"outbox": PostgresOutbox(below), "catalog": PostgresCatalog(below)}
    shared |= {"submissions": PostgresSubmissions(below), "clock": PostgresClock(below)}
    shared |= {"sites": PostgresSites(below), "nodes": PostgresNodes(below)}
    shared |= {"visitor_secrets": PostgresVisitorSecrets(below)}
    return Stores(database=below, announcements=Unheard(), **shared)


async def sizes(below: Memory | Database) -> Mapping[str, int]:
    """The rows of each table; of partitions, their number."""
    if isinstance(below, Memory):
        names = {
            "site_days": "event_site_counts",
            "filtered_days": "event_filtered",
            "submissions": "catalog_submissions",
            "keys": "api_keys",
            "audits": "audit",
            "outbox": "marks",
            "messages": "outbox",
        }
        tables = {names.get(name, name): getattr(below, name) for name in below.__slots__}
        unpaid = sum(row.paid_ms is None for row in below.bookings.values())
        counts = {name: len(table) for name, table in tables.items() if isinstance(table, dict | list)}
        return counts | {"unpaid bookings": unpaid}
    known = [row["relname"] for row in await below.fetch(TABLES)]
    queries = {f'"{name}"': f'select count(*) from "{name}"' for name in known} | {
        "unpaid bookings": "select count(*) from bookings where paid_ms is null",
        "partitions": "select count(*) from pg_inherits where inhparent = 'events'::regclass",
    }
    row = await below.fetchrow("select " + ", ".join(f"({count})" for count in queries.values()))
    assert row is not None
    return {name.strip('"'): int(count) for name, count in zip(queries, row.values(), strict=True)}


TABLES = """
select relname from pg_class where relkind in ('r', 'p') and not relispartition
and relnamespace = 'public'::regnamespace order by relname
"""


@dataclass(slots=True)
class Year:
    """A running service, and its days so far."""

    below: Memory | Database
    stores: Stores
    node: Assembly
    clock: HandClock
    prunings: Sequence[Pruning]
    day: int = 0
    _claimed: list[tuple[str, str]] = field(default_factory=list)
    _tenants: dict[str, str] = field(default_factory=dict)
    _campaign: str = ""
    _paid: str = ""

    async def open(self) -> None:
        """The people, and what they sell and show."""
        ledger = self.node.services.ledger
        assert isinstance(await ledger.create_slot("left-top", "Left", Side.LEFT, 5_000, OPERATOR), Slot)
        for email in PEOPLE:
            await self.sign_in(email)
        await self._register(CAREFUL, await self.sign_in(CAREFUL))
        tenant_id = self._tenants[PEOPLE[0]]
        await ledger.save_profile(tenant_id, "Acme", "https://example.com", OPERATOR)
        await ledger.save_billing_details(replace(BILLING, tenant_id=tenant_id, email=PEOPLE[0]), OPERATOR)
        await ledger.share_report(tenant_id, Days(20_000, 20_006), Only(slot_id="left-1"), OPERATOR, costs=False)
        made: Any = await ledger.create_campaign(tenant_id, "Autumn", CONTENT, OPERATOR)
        self._campaign = made.campaign.id
        await self._listen(PEOPLE[0])
        await ledger.move_campaign(None, self._campaign, CampaignMove.APPROVE, OPERATOR)

    def go_on_from(self, earlier: "Year") -> None:
        """Go on where another service over equal rows has ended."""
        self.clock.at_ms, self.day = earlier.clock.at_ms, earlier.day
        self._claimed, self._tenants = [*earlier._claimed], {**earlier._tenants}
        self._campaign, self._paid = earlier._campaign, earlier._paid

    async def pass_days(self, days: int) -> Mapping[str, int]:
        """Let days pass. Returns the largest size of each table at the end of a day."""
        largest: dict[str, int] = {}
        for _ in range(days):
            await self.pass_day()
            for table, size in (await sizes(self.below)).items():
                largest[table] = max(size, largest.get(table, 0))
        return largest

    async def pass_day(self) -> None:
        await self.node.partitions._round()
        await self._keys()
        await self._review()
        await self._people()
        await self._bookings()
        if self.day % 5 == 3:
            await self._leaver(f"leaver{self.day}@example.com")
        await self._housekeeping()
        self.day += 1
        self.clock.at_ms = START_MS + self.day * DAY_MS

    async def code_to(self, email: str) -> str:
        """The code of the last mail to an email."""
        mails = [each.mail for each in await self.node.services.mail.recent(100) if each.message.recipient == email]
        codes = [code for mail in mails if mail for code in re.findall(r"^\d{6}(?:\d{6})?$", mail.text, re.MULTILINE)]
        return str(codes[0])

    async def sign_in(self, email: str) -> str:
        """A new session; returns its id."""
        self.clock.at_ms += 2 * MINUTE_MS
        begun = await self._enter_code(email)
        assert isinstance(begun, StartedSession)
        account = await self.stores.accounts.account(email)
        assert account is not None
        self._tenants[email] = account.tenant_id
        return begun.session.id

    async def _enter_code(self, email: str) -> object:
        sessions = self.node.services.sessions
        started = await sessions.start_sign_in(email, None, ORIGIN)
        assert isinstance(started, StartedSignIn), started
        return await sessions.complete_sign_in(email, await self.code_to(email), started.browser, ORIGIN, "A browser")

    async def _register(self, email: str, session_id: str) -> None:
        """Add a passkey to an account."""
        passkeys, agent = self.node.services.passkeys, Agent("session", session_id, email)
        ceremony = await passkeys.start_registration(agent)
        assert isinstance(ceremony, Ceremony), ceremony
        response = Authenticator(email.encode()).creates(dict(ceremony.options))
        assert isinstance(await passkeys.register(agent, "Laptop", response), PasskeySaved)

    async def _listen(self, email: str) -> None:
        """Have the events of an account posted."""
        url = f"https://{self._tenants[email].lower().replace('_', '-')}.example.com/hook"
        made = await self.node.services.webhooks.create(self._tenants[email], url, list(EventType), OPERATOR)
        assert isinstance(made, WebhookSaved)
        assert isinstance(
            await self.node.services.webhooks.test(self._tenants[email], made.webhook.id, OPERATOR), Queued
        )

    async def _keys(self) -> None:
        """Keys that are minted and forgotten, tried, or claimed; those of accounts are revoked after a while."""
        keys, quota = self.node.services.keys, self.node.services.quota
        await keys.mint()
        tried = await keys.mint()
        await quota.charge(tried.key.tenant_id, usecase=False, key_id=tried.key.id)
        await self.stores.keys.save_uses({tried.key.id: self.clock.at_ms})
        await keys.start_claim(tried.claim_token, f"curious{self.day}@example.com", ORIGIN)
        email = PEOPLE[self.day % 5]
        self.clock.at_ms += 2 * MINUTE_MS
        claimed = await keys.mint()
        await quota.charge(claimed.key.tenant_id, usecase=False, key_id=claimed.key.id)
        await keys.start_claim(claimed.claim_token, email, ORIGIN)
        done = await keys.complete_claim(claimed.claim_token, email, await self.code_to(email), ORIGIN)
        assert isinstance(done, Claimed)
        self._claimed.append((done.key.id, email))
        await self.stores.keys.save_uses({done.key.id: self.clock.at_ms})
        if len(self._claimed) > 10:
            key_id, owner = self._claimed.pop(0)
            await keys.revoke(key_id, Agent("session", "ses_gone", owner))

    async def _people(self) -> None:
        """People sign in, approve a device and read; others ask for a code and never come."""
        services, email = self.node.services, PEOPLE[self.day % 5]
        session_id = await self.sign_in(email)
        await services.sessions.start_sign_in(f"shy{self.day}@example.com", None, ORIGIN)
        await services.quota.charge(self._tenants[email], usecase=True)
        login = await services.devices.start("A program", "203.0.113.7")
        assert isinstance(login, StartedLogin)
        agent = Agent("session", session_id, email)
        await services.devices.decide(login.device.user_code, agent, approve=self.day % 2 == 0)
        await self._connect(agent, session_id)
        await services.accounts.choose_mails(email, {Topic.REPORTS: self.day % 2 == 0}, agent)
        await services.sessions.end_session(session_id, email, agent)
        await services.sessions.issue_link(email, OPERATOR)
        waiting = await self._enter_code(CAREFUL)
        assert isinstance(waiting, AwaitedSession), waiting
        await services.passkeys.start_sign_in(waiting.token)

    async def _connect(self, agent: Agent, session_id: str) -> None:
        """Allow two programs to read: one gets its key, goes on and leaves, the other never comes for it."""
        keys, ends_ms = self.node.services.keys, self.clock.at_ms + 3 * DAY_MS
        challenge = hashlib.sha256(b"verifier").digest()
        for client_id in ("cli_a", "cli_b"):
            client, by = Client(client_id, "A reader", "http://127.0.0.1/callback"), ByAccount(session_id)
            asked: Any = {
                "challenge": challenge,
                "resource": "https://catalog.example.com",
                "scopes": (Scope.LIBRARY_READ,),
            }
            code = await keys.authorize(client, agent, by, ends_ms=ends_ms, **asked)
        assert isinstance(code, str), code
        proof: Any = {"client_id": client.id, "redirect_uri": client.redirect_uri, "resource": None}
        tokens = await keys.exchange_code(code, verifier="verifier", **proof)
        assert isinstance(tokens, Tokens), tokens
        tokens = await keys.refresh(tokens.refresh_token, client_id=client.id, resource=None)
        assert isinstance(tokens, Tokens), tokens
        await keys.end_token(tokens.access_token, client_id=client.id)

    async def _bookings(self) -> None:
        """One hold is cancelled, one runs out, and once a week one is paid."""
        services, owner = self.node.services, self._tenants[PEOPLE[0]]
        agent = Agent("key", "key_of_a_program", PEOPLE[0])
        week_ms = week_of(self.clock.at_ms) + 2 * WEEK_MS

        async def reserve(name: str, week_ms: int) -> str:
            key = f"{self.day:08}-0000-4000-8000-{name:>012}"
            held = await services.ledger.reserve(owner, self._campaign, "left-top", week_ms, key, agent)
            assert isinstance(held, BookingView), held
            return held.booking.id

        await services.ledger.cancel(owner, await reserve("1", week_ms), agent)
        await reserve("2", week_ms + WEEK_MS)
        self.clock.at_ms += HOUR_MS
        await services.sweeper._round()
        if self.day % 7 == 0:
            self._paid = await reserve("3", week_of(self.clock.at_ms))
            await services.ledger.open_checkout(owner, self._paid, agent)
            await services.ledger.record_payment(f"evt_{self.day}", self._paid, f"pay_{self.day}", 5_000, "usd")
        # Another product of the same account at the processor.
        foreign = await services.ledger.settle_dispute(
            f"dp_{self.day}", f"pay_foreign{self.day}", PaymentState.DISPUTED
        )
        assert isinstance(foreign, Refused)
        shown = Event(self._paid, Kind.IMPRESSION, f"{self.day:08}-0000-4000-8000-000000000000")
        outcomes = await services.events.record_all([shown, shown], OTHER)
        assert len(outcomes) == 2
        await services.events.filtered._round()

    async def _leaver(self, email: str) -> None:
        """Somebody signs up, looks around, and deletes the account."""
        accounts, agent = self.node.services.accounts, Agent("session", "ses_of_leaver", email)
        await self._register(email, await self.sign_in(email))
        await self._listen(email)
        await self.node.services.ledger.save_profile(self._tenants[email], "Leaver", "https://example.com", agent)
        details = replace(BILLING, tenant_id=self._tenants[email], email=email)
        await self.node.services.ledger.save_billing_details(details, agent)
        days = Days(20_000, 20_006)
        await self.node.services.ledger.share_report(self._tenants[email], days, Only(), agent, costs=True)
        await self.node.services.ledger.create_campaign(self._tenants[email], "Idea", CONTENT, agent)
        await self._propose(email)
        self.clock.at_ms += MINUTE_MS
        await accounts.start_deletion(email)
        gone = await accounts.confirm_deletion(email, await self.code_to(email), agent)
        assert isinstance(gone, Scheduled)
        await accounts.start_deletion(PEOPLE[self.day % 4])

    async def _propose(self, email: str) -> str:
        """Propose a bot template for the catalog. Returns the id of the submission."""
        agent, submissions = Agent("session", "ses_of_author", email), self.node.services.submissions
        entry = '{"slug":"sorter","name":"Sorter","addedAt":0}'
        made = await submissions.propose(
            self._tenants[email], EntryId(EntryKind.BOTS, "sorter"), "Sorter", entry, agent
        )
        assert isinstance(made, SubmissionSaved), made
        return made.submission.id

    async def _review(self) -> None:
        """Somebody proposes an entry each day, which is declined."""
        submission_id = await self._propose(PEOPLE[self.day % 4])
        [view] = await self.stores.submissions.for_review(SubmissionStatus.PENDING, None, 1)
        seen = view.submission.version(view.current)
        declined = await self.node.services.submissions.review(
            submission_id, OPERATOR, accept=False, note="No.", seen=seen
        )
        assert isinstance(declined, SubmissionSaved), declined

    async def _housekeeping(self) -> None:
        lease = await self.stores.outbox.lease(100, self.clock.at_ms, self.clock.at_ms + 1)
        await self.stores.outbox.mark([Sent(mail.id, self.clock.at_ms) for mail in lease.messages])
        while tasks := (await self.stores.webhooks.lease(ROOM, self.clock.at_ms, self.clock.at_ms + 1)).tasks:
            attempts = [Attempt(t.delivery.id, t.webhook.id, 1, self.clock.at_ms, 1, answered=200) for t in tasks]
            await self.stores.webhooks.settle(attempts, judge_with(Retries()))
        await self.node.services.eraser.sweep()
        await Pruner(self.prunings, self.clock, PrunerLimits(rows=20, pause_seconds=0.0))._round()


@asynccontextmanager
async def open_year(
    below: Memory | Database,
    *,
    rules: RetentionRules = RULES,
    without: Collection[str] = (),
    earlier: Year | None = None,
) -> AsyncIterator[Year]:
    """A service at the beginning of a year, or after the days of an `earlier` one over equal rows. `without` names prunings
    that are forgotten."""
    stores = stores_in(below)
    settings = {"SERVER__BASE_URL": BASE_URL, "BOOKINGS__OPEN_HOLDS": "10", "SITE__TERMS_URL": f"{BASE_URL}/terms"}
    config, clock = load(None, {f"CATALOG__{name}": text for name, text in settings.items()}), HandClock(START_MS)
    limits = Limits.of(config)
    limits = replace(
        limits,
        keys=replace(limits.keys, letters=replace(limits.keys.letters, known_ms=KNOWN_MS)),
        sessions=replace(limits.sessions, letters=replace(limits.sessions.letters, known_ms=KNOWN_MS)),
        event_rules=EventRules(keep_days=7, ahead_days=1),
        accounts=AccountRules(undo_ms=3 * DAY_MS),
    )
    number = 1 if earlier is None else 2
    classes = Classes(catalog=PromptCatalog)
    ports = Ports(
        replace(NODE, id=f"n{number}"), clock, SeededEntropy(number), SECRETS, mail=Postbox(), classes=classes
    )
    node = assemble(config, stores, ports, limits)
    node.services.eraser._limits = EraserLimits(pause_seconds=0.0)
    mails = Pruning("mails", 2 * DAY_MS, stores.outbox.prune)
    kept = [each for each in (*prunings(stores, rules), mails) if each.what not in without]
    assert len(kept) + len(without) == len(prunings(stores, rules)) + 1, f"there is no pruning of one of {without}"
    async with running(node.services.actors):
        year = Year(below, stores, node, clock, kept)
        if earlier is None:
            await year.open()
        else:
            year.go_on_from(earlier)
        yield year
