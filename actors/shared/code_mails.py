"""The rules of how many codes are mailed to one mailbox. Pure; source: ADR 0056.

Mails are counted by the network that asked for them, so that strangers use up their own allowance and not the owner's.
Beyond a daily total, the networks that used a code of this mailbox before keep their allowance, and others get the first
mail of the day of their block. A mail counts in a row for each of network, block and mailbox; one for a known network
does not count for its block. Row ids are keyed hashes: the database names neither mailbox nor network.
"""

import hmac
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, replace
from functools import partial

from actors.shared.codes import Sendings, send
from actors.shared.credentials import code_from, code_proof, long_code
from actors.times import DAY_MS
from actors.values import OutboxMessage, Refused

LONG = "_long"
"""The end of the names of templates with a long code."""

UNLIMITED = 1 << 30


@dataclass(frozen=True, slots=True)
class CodeMailRules:
    """Mails with a code to one mailbox in a UTC day: at most `per_network` of one network, `pause_ms` apart. After
    `per_mailbox` of all networks, unknown ones get one for each block; after `last_resort`, none. A network is known for
    `known_ms` after it used a code. `per_network` does not refuse it, because strangers may share its address; beyond
    that, it gets mails with long codes until `last_resort`. Mails after the first `short_codes` have long codes, so that
    more mails allow no more useful guesses."""

    per_network: int = 5
    pause_ms: int = 0
    per_mailbox: int = 20
    last_resort: int = 200
    short_codes: int = 12
    known_ms: int = 90 * DAY_MS


@dataclass(frozen=True, slots=True)
class Origin:
    """The network and the block of a client. `network` is the address that the client is limited as; `block` is the larger
    network that one owner most likely has, such as an IPv6 /48, whose addresses are as good as one."""

    network: str
    block: str


@dataclass(frozen=True, slots=True)
class CodeMailCount(Sendings):
    """Mails with a code to one mailbox, for one network, for one block, or for all. `known_until_ms`: until when the network
    is known."""

    id: bytes
    known_until_ms: int = 0


@dataclass(frozen=True, slots=True)
class Draft:
    """A mail with a code that is not sent yet: the proofs of its short and its long code, and the rows that count it."""

    message: OutboxMessage
    proof: bytes
    long_proof: bytes
    network_id: bytes
    block_id: bytes
    mailbox_id: bytes

    @classmethod
    def of(cls, secret: bytes, subject: bytes, message: OutboxMessage, origin: Origin) -> "Draft":
        """`subject` is what the proofs are bound to."""
        email, kind, short = message.recipient, message.template, partial(code_from, secret)
        return cls(
            message,
            proof=code_proof(secret, subject, email, short(message.nonce)),
            long_proof=code_proof(secret, subject, email, long_code(short, message.nonce)),
            network_id=count_id(secret, kind, email, origin.network),
            block_id=count_id(secret, kind, email, origin.block),
            mailbox_id=count_id(secret, kind, email),
        )

    @property
    def count_ids(self) -> tuple[bytes, bytes, bytes]:
        return self.network_id, self.block_id, self.mailbox_id

    def with_long_code(self) -> "Draft":
        """The same mail with its long code."""
        message = replace(self.message, template=self.message.template + LONG)
        return replace(self, message=message, proof=self.long_proof)


def count_id(secret: bytes, kind: str, email: str, network: str = "") -> bytes:
    """The id of the row that counts mails of a kind to the mailbox of an email, from one network or block, or from all."""
    return hmac.digest(secret, "\0".join(("letters", kind, mailbox_of(email), network)).encode(), "sha256")


class CodeMailCounter:
    """The counts of one batch: locked rows, overlaid with the changes of earlier messages."""

    def __init__(self, rows: Mapping[bytes, CodeMailCount], changed: MutableMapping[bytes, CodeMailCount]) -> None:
        self._rows = rows
        self._changed = changed

    def count(self, draft: Draft, now_ms: int, rules: CodeMailRules, to: str) -> Draft | Refused:
        """Count a mail with a code. Returns the mail to send, with a short or a long code."""
        network = self._row(draft.network_id)
        known = now_ms < network.known_until_ms
        per_day = UNLIMITED if known else rules.per_network
        counted = send(network, now_ms, f"{to} from your network", pause_ms=rules.pause_ms, per_day=per_day)
        if isinstance(counted, Refused):
            return counted
        block = send(self._row(draft.block_id), now_ms, to, pause_ms=0, per_day=UNLIMITED)
        assert not isinstance(block, Refused)
        within = counted.sent_today <= rules.per_network
        if known:
            most, source = UNLIMITED if within else rules.last_resort, to
        else:
            most = rules.last_resort if block.sent_today == 1 else rules.per_mailbox
            source = f"{to} from a network that is new to it"
        total = send(self._row(draft.mailbox_id), now_ms, source, pause_ms=0, per_day=most)
        if isinstance(total, Refused):
            return total
        for row in (counted, total) if known else (block, counted, total):
            self._save(row)
        return draft if within and total.sent_today <= rules.short_codes else draft.with_long_code()

    def recognise(self, network_id: bytes, now_ms: int, rules: CodeMailRules) -> None:
        """Remember a network that used a code."""
        self._save(replace(self._row(network_id), known_until_ms=now_ms + rules.known_ms))

    def _row(self, count_id: bytes) -> CodeMailCount:
        return self._changed.get(count_id) or self._rows.get(count_id) or CodeMailCount(count_id)

    def _save(self, row: CodeMailCount) -> None:
        self._changed[row.id] = row


def mailbox_of(email: str) -> str:
    """The address without its tag: `ann+news@example.com` reaches the mailbox `ann@example.com`.

    Limits count mailboxes, because anyone can make up tags. Accounts keep the whole address: a few mail servers have no
    tags, and there two such addresses can belong to two people. Other spellings that a provider ignores, such as dots, are
    left as they are. `email` is in the normal form that requests are validated to, in lower case.
    """
    name, at, domain = email.rpartition("@")
    untagged = name.partition("+")[0]
    return f"{untagged}{at}{domain}" if untagged else email
