"""The ports of webhooks: the transport, and the store, whose two implementations pass the same contract tests."""

from collections.abc import Callable, Sequence
from typing import Protocol

from actors.values import BatchId
from actors.webhooks.messages import Attempt, Backlog, Delivery, Feed, Lease, Room, Task, Webhook
from actors.webhooks.sending import Judge
from actors.webhooks.state import Decision, LockSet, Snapshot

Decide = Callable[[Snapshot], Decision]

MAX_COUNTED = 1_000
"""Most deliveries that `backlog` counts."""


class DeliveryFailed(Exception):
    """An attempt failed. The text is one line without secrets; `answered` is the HTTP status, if there was one, and `wait_ms`
    how long the receiver asks to be left alone."""

    def __init__(self, text: str, answered: int | None = None, wait_ms: int = 0) -> None:
        super().__init__(text)
        self.answered = answered
        self.wait_ms = wait_ms


class Receivers(Protocol):
    """Sends events to the endpoints of others."""

    async def post(self, task: Task) -> int:
        """Send the event once. Returns the status of the response, which is 2xx. Raises `DeliveryFailed` for any other
        outcome. The caller bounds the time."""
        ...


class WebhookStore(Protocol):
    """Webhooks, and the deliveries to them.

    Every method that changes deliveries locks their webhooks first, sorted. Methods raise `StorageUnavailable`; those
    that write also `Contended` or `OutcomeUnknown`.
    """

    # For the webhook actor.

    async def transact(self, batch_id: BatchId, locks: LockSet, decide: Decide, now_ms: int) -> Decision:
        """Lock the accounts and their webhooks, decide, and commit all changes with the batch id in one transaction. A
        batch id that is already in the journal is not decided again: its decision is returned."""
        ...

    async def webhooks(self, tenant_id: str) -> Sequence[Webhook]:
        """The webhooks of an account, oldest first."""
        ...

    async def webhook(self, tenant_id: str, webhook_id: str) -> Webhook | None: ...

    async def deliveries(self, webhook_id: str, before_seq: int | None, limit: int) -> Sequence[Delivery]:
        """Deliveries of a webhook, newest first, strictly before `before_seq`."""
        ...

    async def count_deliveries(self, webhook_id: str, most: int) -> int:
        """How many deliveries a webhook has, counted no further than `most`."""
        ...

    async def feed(self, tenant_id: str, after_seq: int, since_ms: int, limit: int) -> Feed:
        """At most `limit` events of an account after `after_seq` that were made at `since_ms` or later, oldest first. Without
        one, the reader goes on after the newest event that there is.

        An event becomes visible only after all of its account with a lower `seq`, so a reader misses none.
        """
        ...

    # For the sender.

    async def lease(self, room: Room, now_ms: int, until_ms: int) -> Lease:
        """Lease due deliveries until `until_ms`, as `sending.choose` decides, and count an attempt of each. Of a subject
        only the first delivery that waits is due. Skips webhooks that another node has locked."""
        ...

    async def settle(self, attempts: Sequence[Attempt], judge: Judge) -> Sequence[Webhook]:
        """Write what `judge` makes of attempts, the mails of webhooks that were turned off included, and let the next
        delivery of a subject that is done follow. Returns the webhooks that were turned off. Repeating it is harmless."""
        ...

    async def backlog(self, now_ms: int) -> Backlog:
        """The deliveries that wait for enabled webhooks; at most `MAX_COUNTED` are counted."""
        ...
