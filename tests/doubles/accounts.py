"""The account store in memory."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from actors.accounts.messages import Deletion, DeletionBlockers, Exported, MailChoices
from actors.accounts.state import SETTLED_MS, Decision, LockSet, Snapshot
from actors.accounts.store import AccountDetails, AccountFilter, AccountLine, AccountList, AccountPosition, Decide
from actors.bookings.invoices import Invoice
from actors.bookings.records import OPEN, BookingStatus, Campaign, CampaignStatus, Content
from actors.bookings.store import TOPIC
from actors.keys.validity import is_live
from actors.times import CLOCKS_DIFFER_MS
from actors.values import Account, AuditRecord, BatchId, Tier
from tests.doubles.export import export
from tests.doubles.retention import GIVEN_UP, drop_bookings, drop_keys
from tests.doubles.tables import MemoryStore, picked
from tests.doubles.webhooks import drop_webhooks


def _matches(line: AccountLine, wanted: AccountFilter) -> bool:
    account, text = line.account, wanted.text
    named = text is None or text in account.email or text == account.tenant_id
    return (
        (named or (text or "") in (line.sponsor_name or "").lower())
        and wanted.tier in (None, line.tier)
        and wanted.suspended in (None, account.suspended_ms is not None)
    )


DELETED = Content("Deleted", "", "", "", "")


class MemoryAccounts(MemoryStore):
    """Deletions, choices of mails, and the rows of one account in all tables."""

    async def transact(self, batch_id: BatchId, lock_set: LockSet, decide: Decide) -> Decision:
        return await self._memory.decide_once(batch_id, lambda: self._snapshot(lock_set), decide, self._write)

    async def account(self, email: str) -> Account | None:
        await self._memory.before()
        return self._memory.accounts.get(email)

    async def deletion(self, tenant_id: str) -> Deletion | None:
        await self._memory.before()
        return self._memory.account_deletions.get(tenant_id)

    async def mail_choices(self, email: str) -> MailChoices:
        await self._memory.before()
        return self._memory.mail_choices.get(email, MailChoices(email))

    async def due(self, now_ms: int, limit: int) -> Sequence[Deletion]:
        await self._memory.before()
        rows = self._memory.account_deletions.values()
        due = sorted((row.due_ms, row.tenant_id) for row in rows if row.due_ms is not None and row.due_ms <= now_ms)
        return [self._memory.account_deletions[tenant_id] for _, tenant_id in due[:limit]]

    async def erase(self, deletion: Deletion, limit: int) -> bool:
        await self._memory.before()
        more = deletion.tenant_id in self._memory.account_deletions and self._erase(deletion, limit)
        await self._memory.after()
        return more

    async def export(self, account: Account, table: str, after: str, limit: int) -> Sequence[Exported]:
        await self._memory.before()
        return export(self._memory, account, table, after, limit)

    def _snapshot(self, lock_set: LockSet) -> Snapshot:
        tables = self._memory
        accounts = picked(tables.accounts, lock_set.emails)
        waiting = {row.email: row for row in tables.account_deletions.values() if row.begun_ms is None}
        blockers = {email: self._standing(account) for email, account in accounts.items()}
        choices = picked(tables.mail_choices, lock_set.emails)
        return Snapshot(accounts, picked(waiting, lock_set.emails), blockers, choices)

    def _standing(self, account: Account) -> DeletionBlockers:
        own = [row for row in self._memory.bookings.values() if row.tenant_id == account.tenant_id]
        return DeletionBlockers(
            admin=account.email in self._memory.administrators,
            administrators=len(self._memory.administrators),
            paid_until_ms=max((row.week_end_ms for row in own if row.status is BookingStatus.PAID), default=0),
            refunds=sum(row.status is BookingStatus.REFUNDING or row.refund_due_ms is not None for row in own),
            holds=sum(row.status in OPEN for row in own),
        )

    def _write(self, decision: Decision) -> None:
        tables = self._memory
        tables.account_deletions.update((row.tenant_id, row) for row in decision.deletions.values())
        tables.mail_choices.update(decision.choices)
        for account in decision.ended:
            begun_ms = tables.account_deletions[account.tenant_id].begun_ms
            for place in [place for place in tables.sign_ins if place[0] == account.email]:
                del tables.sign_ins[place]
            for token_hash in [row.token_hash for row in tables.sign_in_links.values() if row.email == account.email]:
                del tables.sign_in_links[token_hash]
            tables.administrators.pop(account.email, None)
            tables.mail_choices.pop(account.email, None)
            del tables.accounts[account.email]
            for device_id in [row.id for row in tables.devices.values() if row.email == account.email]:
                del tables.devices[device_id]
            for session_id in [row.id for row in tables.sessions.values() if row.email == account.email]:
                del tables.sessions[session_id]
                tables.device_guesses.pop(session_id, None)
                tables.passkey_challenges.pop(session_id, None)
            for pending_id in [row.id for row in tables.pending_sign_ins.values() if row.email == account.email]:
                del tables.pending_sign_ins[pending_id]
                tables.passkey_challenges.pop(pending_id, None)
            for passkey_id in [row.id for row in tables.passkeys.values() if row.email == account.email]:
                del tables.passkeys[passkey_id]
            of_account = (row for row in tables.keys.values() if row.tenant_id == account.tenant_id)
            assert begun_ms is not None, "it has begun"
            live = [row for row in of_account if is_live(row, begun_ms - CLOCKS_DIFFER_MS)]
            tables.keys.update((row.id, replace(row, revoked_ms=begun_ms)) for row in live)
            tables.announce([f"tenant:{account.tenant_id}"])
        tables.messages.update((message.id, message) for message in decision.outbox)
        tables.audits.extend(decision.audits)

    def _erase(self, deletion: Deletion, limit: int) -> bool:
        steps = (
            self._forget_in_audit,
            self._erase_mails,
            self._erase_claims,
            self._erase_keys,
            self._erase_days,
            self._erase_key_days,
            self._erase_terms,
            self._erase_idempotency_keys,
            self._erase_webhook_deliveries,
            self._erase_webhooks,
            self._erase_webhook_events,
            self._erase_submissions,
            self._erase_bookings,
            self._erase_campaigns,
            self._blank_bookings,
            self._blank_invoices,
            self._erase_billing_details,
            self._erase_shared_reports,
            self._erase_authorizations,
        )
        if any(step(deletion, limit) >= limit for step in steps):
            return True
        tables, tenant_id = self._memory, deletion.tenant_id
        bookings = [row for row in tables.bookings.values() if row.tenant_id == tenant_id]
        if any(row.status in OPEN for row in bookings):
            return False
        if bookings:
            if tenant_id in tables.sponsors:
                tables.sponsors[tenant_id] = tables.sponsors[tenant_id].erased
            tables.tenants[tenant_id] = replace(
                tables.tenants[tenant_id], tier=Tier.CLAIMED, lifetime_used=0, usecase_reads=0, month_used=0, day_used=0
            )
        else:
            tables.sponsors.pop(tenant_id, None)
            for row in [row for row in tables.tenants.values() if tenant_id in (row.id, row.merged_into)]:
                del tables.tenants[row.id]
        del tables.account_deletions[tenant_id]
        tables.sponsorship_revision += 1
        tables.announce([TOPIC])
        return False

    def _forget_in_audit(self, deletion: Deletion, limit: int) -> int:
        tables, email, tenant_id = self._memory, deletion.email, deletion.tenant_id
        until_ms = (deletion.begun_ms or 0) + SETTLED_MS
        own = {row.id for row in tables.keys.values() if row.tenant_id == tenant_id}
        own |= {row.id for row in tables.campaigns.values() if row.tenant_id == tenant_id}
        own |= {row.id for row in tables.sponsors.values() if row.tenant_id == tenant_id}
        own |= {row.id for row in tables.submissions.values() if row.tenant_id == tenant_id}
        changed = 0
        for at, row in enumerate(tables.audits):
            told = email in (row.actor_email, row.target_id) or (row.target_id in own and row.changes != "{}")
            if told and row.created_ms <= until_ms and changed < limit:
                tables.audits[at] = _forgotten(row, email, tenant_id, own)
                changed += 1
        return changed

    def _erase_mails(self, deletion: Deletion, limit: int) -> int:
        tables = self._memory
        own = [row for row in tables.messages.values() if row.recipient == deletion.email]
        gone = [row.id for row in own if row.created_ms < (deletion.begun_ms or 0)][:limit]
        for message_id in gone:
            del tables.messages[message_id]
            tables.outbox.pop(message_id, None)
        return len(gone)

    def _erase_claims(self, deletion: Deletion, limit: int) -> int:
        rows = self._memory.claims
        named = [row for row in rows.values() if row.email == deletion.email and row.completed_ms is None][:limit]
        rows.update((row.token_hash, replace(row, email=None, proof=None)) for row in named)
        return len(named)

    def _erase_keys(self, deletion: Deletion, limit: int) -> int:
        gone = [row.id for row in self._memory.keys.values() if row.tenant_id == deletion.tenant_id][:limit]
        drop_keys(self._memory, gone)
        return len(gone)

    def _erase_days(self, deletion: Deletion, limit: int) -> int:
        gone = [place for place in self._memory.usage_days if place[0] == deletion.tenant_id][:limit]
        for place in gone:
            del self._memory.usage_days[place]
        return len(gone)

    def _erase_key_days(self, deletion: Deletion, limit: int) -> int:
        gone = [place for place in self._memory.key_usage_days if place[0] == deletion.tenant_id][:limit]
        for place in gone:
            del self._memory.key_usage_days[place]
        return len(gone)

    def _erase_terms(self, deletion: Deletion, limit: int) -> int:
        gone = [place for place in self._memory.accepted_terms if place[0] == deletion.tenant_id][:limit]
        for place in gone:
            del self._memory.accepted_terms[place]
        return len(gone)

    def _erase_idempotency_keys(self, deletion: Deletion, limit: int) -> int:
        gone = [place for place in self._memory.booking_keys if place[0] == deletion.tenant_id][:limit]
        for place in gone:
            del self._memory.booking_keys[place]
        return len(gone)

    def _erase_webhook_deliveries(self, deletion: Deletion, limit: int) -> int:
        own = {row.id for row in self._memory.webhooks.values() if row.tenant_id == deletion.tenant_id}
        gone = [row.id for row in self._memory.webhook_deliveries.values() if row.webhook_id in own][:limit]
        for delivery_id in gone:
            del self._memory.webhook_deliveries[delivery_id]
        return len(gone)

    def _erase_webhooks(self, deletion: Deletion, limit: int) -> int:
        gone = [row.id for row in self._memory.webhooks.values() if row.tenant_id == deletion.tenant_id][:limit]
        drop_webhooks(self._memory, gone)
        return len(gone)

    def _erase_webhook_events(self, deletion: Deletion, limit: int) -> int:
        events = self._memory.webhook_events
        gone = [row.id for row in events.values() if row.tenant_id == deletion.tenant_id][:limit]
        for event_id in gone:
            del events[event_id]
        return len(gone)

    def _erase_submissions(self, deletion: Deletion, limit: int) -> int:
        rows = self._memory.submissions
        gone = [row.id for row in rows.values() if row.tenant_id == deletion.tenant_id][:limit]
        for submission_id in gone:
            del rows[submission_id]
        return len(gone)

    def _erase_bookings(self, deletion: Deletion, limit: int) -> int:
        holding = set(self._memory.slot_weeks.values())
        gone = [
            row.id
            for row in self._memory.bookings.values()
            if row.tenant_id == deletion.tenant_id
            and row.status in GIVEN_UP
            and (row.paid_ms, row.payment_id, row.payment_issue) == (None, None, None)
            and row.id not in holding
        ]
        return drop_bookings(self._memory, gone[:limit])

    def _erase_campaigns(self, deletion: Deletion, limit: int) -> int:
        """Delete the campaigns that no booking refers to, and take the words out of the others."""
        tables, changed = self._memory, 0
        booked = {row.campaign_id for row in tables.bookings.values()}
        for row in [row for row in tables.campaigns.values() if row.tenant_id == deletion.tenant_id]:
            if changed == limit:
                break
            if row.id not in booked:
                del tables.campaigns[row.id]
            elif row.content != DELETED:
                tables.campaigns[row.id] = blanked(row)
            else:
                continue
            changed += 1
        return changed

    def _blank_bookings(self, deletion: Deletion, limit: int) -> int:
        rows = [row for row in self._memory.bookings.values() if row.tenant_id == deletion.tenant_id]
        blank: dict[str, None] = dict.fromkeys(("refund_reason", "refund_note", "video_material"))
        said = [row for row in rows if any(getattr(row, name) is not None for name in blank)][:limit]
        self._memory.bookings.update((row.id, replace(row, **blank)) for row in said)  # type: ignore[arg-type]
        return len(said)

    def _blank_invoices(self, deletion: Deletion, limit: int) -> int:
        rows = self._memory.invoices
        named = [row for row in rows.values() if row.tenant_id == deletion.tenant_id and _names_buyer(row)][:limit]
        rows.update((row.number, replace(row, buyer_email="", buyer_website="")) for row in named)
        return len(named)

    def _erase_billing_details(self, deletion: Deletion, limit: int) -> int:
        return int(self._memory.billing_details.pop(deletion.tenant_id, None) is not None)

    def _erase_authorizations(self, deletion: Deletion, limit: int) -> int:
        rows = self._memory.authorizations.values()
        mine = [row for row in rows if row.email == deletion.email and row.created_ms <= (deletion.begun_ms or 0)]
        for row in mine[:limit]:
            del self._memory.authorizations[row.id]
        return len(mine[:limit])

    def _erase_shared_reports(self, deletion: Deletion, limit: int) -> int:
        ended = self._memory.shared_of(deletion.tenant_id)[:limit]
        for report in ended:
            del self._memory.shared_reports[report.id]
        return len(ended)

    # Reads of administrators.

    async def accounts(self, wanted: AccountFilter, after: AccountPosition | None, limit: int) -> AccountList:
        await self._memory.before()
        lines = sorted(map(self._line, self._memory.accounts.values()), key=lambda line: line.spot, reverse=True)
        found = [line for line in lines if (after is None or line.spot < after) and _matches(line, wanted)]
        return AccountList(found[:limit], found[limit - 1].spot if len(found) > limit else None)

    async def count_accounts(self, *, suspended: bool | None) -> int:
        await self._memory.before()
        rows = self._memory.accounts.values()
        return sum(suspended in (None, row.suspended_ms is not None) for row in rows)

    async def details(self, tenant_id: str, now_ms: int) -> AccountDetails | None:
        await self._memory.before()
        tables = self._memory
        account = next((row for row in tables.accounts.values() if row.tenant_id == tenant_id), None)
        if account is None:
            return None
        bookings = [row.status_at(now_ms).value for row in tables.bookings.values() if row.tenant_id == tenant_id]
        return AccountDetails(
            self._line(account),
            sum(row.tenant_id == tenant_id and is_live(row, now_ms) for row in tables.keys.values()),
            sum(row.email == account.email and row.is_live(now_ms) for row in tables.sessions.values()),
            sum(row.tenant_id == tenant_id for row in tables.campaigns.values()),
            Counter(bookings),
        )

    def _line(self, account: Account) -> AccountLine:
        tables = self._memory
        sponsor = tables.sponsors.get(account.tenant_id)
        return AccountLine(
            account,
            tables.tenants[account.tenant_id].tier,
            account.email in tables.administrators,
            None if sponsor is None else sponsor.name,
        )


def _names_buyer(row: Invoice) -> bool:
    return (row.buyer_email, row.buyer_website) != ("", "")


def _forgotten(row: AuditRecord, email: str, tenant_id: str, own: set[str]) -> AuditRecord:
    return replace(
        row,
        actor_email=None if row.actor_email == email else row.actor_email,
        target_id=tenant_id if row.target_id == email else row.target_id,
        changes="{}" if row.target_id in own else row.changes,
    )


def blanked(campaign: Campaign) -> Campaign:
    """A campaign without its words. A paused campaign is not shown."""
    return replace(
        campaign,
        name="Deleted",
        content=DELETED,
        status=CampaignStatus.PAUSED,
        review_note=None,
        shown_as=None,
        pending=None,
    )
