"""The account actor: exports accounts, stores their choices of mails, and schedules, undoes and begins their deletion, one
transaction per batch."""

from collections.abc import Mapping, Sequence

from actors.accounts.messages import (
    Answer,
    BeginErasure,
    ChooseMails,
    ConfirmDeletion,
    Deletion,
    Exported,
    MailChoices,
    MailsChosen,
    Message,
    Scheduled,
    StartDeletion,
    UndoDeletion,
)
from actors.accounts.state import SETTLED_MS, AccountRules, Decision, Snapshot, decide, rows_to_lock
from actors.accounts.store import EXPORTED, AccountDetails, AccountFilter, AccountList, AccountPosition, AccountStore
from actors.shared.announcements import Topic
from actors.shared.credentials import code_from, code_proof, digest
from actors.shared.records import CodeActor
from actors.times import DAY_MS
from actors.values import Account, Agent, BatchId, Done, Refused

SUBJECT = digest("delete-account")
"""The subject of the proofs of deletion codes, so that no other code confirms a deletion."""

ERASER = Agent("system", "retention")

Place = tuple[int, str]
"""A place in an export: the index of a table, and the last row of it that was exported."""


class AccountActor(CodeActor[Message, Answer, AccountStore, AccountRules]):
    """Owns the deletions of accounts and their choices of mails."""

    name = "accounts"

    # Intents.

    async def start_deletion(self, email: str) -> Done | Refused:
        """Send a code to `email` that confirms the deletion of its account."""
        message = self._code_mail("deletion_code", email, self.rules.codes.life_ms)
        proof = self._proof(email, code_from(self._secret, message.nonce))
        return await self.ask_for(StartDeletion(email, proof, message), Done, Refused)

    async def confirm_deletion(self, email: str, code: str, agent: Agent) -> Scheduled | Refused:
        """Schedule the deletion of the account of `email`, using the emailed code."""
        return await self._confirm(email, self._proof(email, code), self.rules.undo_ms, agent)

    async def order_deletion(self, email: str, agent: Agent, *, at_once: bool = False) -> Scheduled | Refused:
        """Schedule the deletion of the account of `email` for an operator, who needs no code."""
        return await self._confirm(email, None, 0 if at_once else self.rules.undo_ms, agent)

    async def undo_deletion(self, email: str, agent: Agent) -> Done | Refused:
        """Cancel the deletion of the account of `email`. Repeating it changes nothing."""
        mail = self._code_mail("deletion_undone", email, DAY_MS)
        audit = self._audit(agent, "account.deletion_undone", "account", "")
        return await self.ask_for(UndoDeletion(email, mail, audit), Done, Refused)

    async def begin_erasure(self, deletion: Deletion) -> Deletion:
        """End the account of a deletion that is due. Returns the deletion, which has begun unless it cannot now."""
        mail = self._code_mail("account_deleted", deletion.email, DAY_MS)
        answer = await self.ask(
            BeginErasure(deletion.email, mail, self._audit(ERASER, "account.deleted", "account", ""))
        )
        return answer.deletion if isinstance(answer, Scheduled) else deletion

    async def choose_mails(self, email: str, choices: Mapping[Topic, bool], agent: Agent) -> MailsChosen | Refused:
        """Turn mails to the account of `email` on or off, by topic. Repeating it changes nothing."""
        audit = self._audit(agent, "account.mails_chosen", "account", "")
        return await self.ask_for(ChooseMails(email, choices, audit), MailsChosen, Refused)

    async def mail_choices(self, email: str) -> MailChoices:
        """The choices of an account. Raises `StorageUnavailable`."""
        return await self._store.mail_choices(email)

    async def due(self, limit: int) -> Sequence[Deletion]:
        """The deletions to work on now: accounts to end, and those that ended `SETTLED_MS` ago. Raises
        `StorageUnavailable`."""
        now_ms = self._clock.now_ms()
        due = await self._store.due(now_ms, limit)
        return [each for each in due if each.begun_ms is None or each.begun_ms + SETTLED_MS <= now_ms]

    async def erase(self, deletion: Deletion, rows: int) -> bool:
        """One step of erasing an account that has ended; returns whether more may be left. Raises what the store raises."""
        return await self._store.erase(deletion, rows)

    async def deletion_of(self, tenant_id: str) -> Deletion | None:
        """The deletion of an account, if one was requested. Raises `StorageUnavailable`."""
        return await self._store.deletion(tenant_id)

    async def find(self, email: str) -> Account | None:
        """The account of an email. Raises `StorageUnavailable`."""
        return await self._store.account(email)

    async def export(
        self, account: Account, place: Place | None, limit: int
    ) -> tuple[dict[str, list[Exported]], Place | None]:
        """See `exported_rows`."""
        return await exported_rows(self._store, account, place, limit)

    async def page_of(self, wanted: AccountFilter, after: AccountPosition | None, limit: int) -> AccountList:
        """A page of accounts for administrators. Raises `StorageUnavailable`."""
        return await self._store.accounts(wanted, after, limit)

    async def count(self, *, suspended: bool | None = None) -> int:
        """How many accounts there are, or are suspended or not; at most `COUNTED`. Raises `StorageUnavailable`."""
        return await self._store.count_accounts(suspended=suspended)

    async def details(self, tenant_id: str) -> AccountDetails | None:
        """One account for administrators, by its tenant. Raises `StorageUnavailable`."""
        return await self._store.details(tenant_id, self._clock.now_ms())

    # The batch.

    async def commit(self, batch_id: BatchId, messages: Sequence[Message]) -> Sequence[Answer]:
        now_ms = self._clock.now_ms()

        def on(snapshot: Snapshot) -> Decision:
            return decide(snapshot, messages, now_ms, self.rules)

        return (await self._store.transact(batch_id, rows_to_lock(messages), on)).answers

    # Making records.

    async def _confirm(self, email: str, proof: bytes | None, delay_ms: int, agent: Agent) -> Scheduled | Refused:
        mail = self._code_mail("deletion_scheduled", email, DAY_MS)
        audit = self._audit(agent, "account.deletion_confirmed", "account", "")
        return await self.ask_for(ConfirmDeletion(email, proof, delay_ms, mail, audit), Scheduled, Refused)

    def _proof(self, email: str, code: str) -> bytes:
        return code_proof(self._secret, SUBJECT, email, code)


async def exported_rows(
    store: AccountStore, account: Account, place: Place | None, limit: int
) -> tuple[dict[str, list[Exported]], Place | None]:
    """At most `limit` rows of an account by table, after a place, and the place after which more follow, if any. Raises
    `StorageUnavailable`."""
    index, after = place or (0, "")
    found: dict[str, list[Exported]] = {}
    room = limit
    for number in range(index, len(EXPORTED)):
        table = EXPORTED[number]
        rows = list(await store.export(account, table, after if number == index else "", room + 1))
        found[table] = rows[:room]
        if len(rows) > room:
            return found, (number, rows[room - 1].place if room else after if number == index else "")
        room -= len(rows)
    return found, None
