"""Mail: each message arrives at least once or is given up for a reason, and no node sends what another has leased."""

import json
import re
from collections.abc import Iterator
from itertools import pairwise

from actors.clock import SECOND_MS
from actors.shared.credentials import code_from
from service.tokens.links import Links
from tests.simulation.oracle.case import Case
from tests.simulation.post import Handed
from tests.simulation.rules import HEALED_SECONDS, MAIL, SECRET

PROMPT_SECONDS = 1.5
"""The longest time until a message is handed in without faults, by the clock that is furthest behind."""


LEASE_SECONDS = 2.0
"""The longest time from the reading of the clock for a lease to its first use. A clock may be set back meanwhile."""


def _of_letters(case: Case) -> dict[str, list[Handed]]:
    """Return the attempts of each message, in start order."""
    found: dict[str, list[Handed]] = {}
    for handed in case.world.post.handed:
        found.setdefault(handed.mail.message_id, []).append(handed)
    return found


def mails_have_the_facts_of_their_messages(case: Case) -> Iterator[str]:
    for handed in case.world.post.handed:
        letter, mail = case.memory.messages.get(handed.mail.message_id), handed.mail
        if letter is None or (letter.recipient, letter.created_ms) != (mail.recipient, mail.created_ms):
            yield f"{mail} was handed in for {letter}"
        elif not letter.nonce and not _has_facts(mail.text, json.loads(letter.facts)):
            yield f"{mail} does not have {letter.facts}"
        elif letter.nonce and code_from(SECRET, letter.nonce) not in mail.text:
            yield f"{mail} does not have its code"
        elif case.now_ms(handed.node, handed.start) >= letter.expires_ms:
            yield f"{handed.node} handed in {mail} at {handed.start:.3f}, after its code had expired"


VERBATIM = ("booking", "slot", "campaign", "name", "day")
"""The facts that mails quote. Others are amounts and times, which they put into words, or ids that few of them need."""


def _has_facts(text: str, facts: dict[str, str]) -> bool:
    """Return whether a notice's link ends its target, and any other mail quotes its facts."""
    words = " ".join(text.split())
    quoted = (facts[name] for name in VERBATIM if name in facts)
    return _target(text) == facts["target"] if "target" in facts else all(fact in words for fact in quoted)


def _target(text: str) -> str | None:
    """The id of what the link in a mail ends."""
    found = re.search(r"/end/(lnk_\S+)$", text, re.MULTILINE)
    link = Links("", SECRET).ending(found[1], 0) if found else None
    return None if link is None else link.target_id


def nobody_sends_what_another_has(case: Case) -> Iterator[str]:
    """A message is sent again after a failure and a pause, or once its lease has expired by the sender's clock."""
    for message_id, handed in _of_letters(case).items():
        for before, after in pairwise(handed):
            again_ms = before.until_ms
            if before.outcome == "failed" and before.end <= after.start:
                pause_ms = MAIL.retries.pause_ms
                again_ms = min(again_ms, case.now_ms(before.node, before.end) + pause_ms)
            now_ms = case.latest_of(after.node, after.start - LEASE_SECONDS, after.start)
            if now_ms < again_ms:
                yield f"{after.node} sent {message_id} again {again_ms - now_ms} ms too early after: {before.outcome}"


def letters_come_or_are_given_up_for_a_reason(case: Case) -> Iterator[str]:
    of_letters = _of_letters(case)
    for letter in case.memory.messages.values():
        row, handed = case.memory.outbox.get(letter.id), of_letters.get(letter.id, [])
        if row is None or row.done_ms is None:
            yield f"{letter.id} is still in the outbox: {row}"
            continue
        if row.sent_ms is not None and not any(each.delivered for each in handed):
            yield f"{letter.id} was sent but never arrived: {handed}"
        reasons = (
            any(each.outcome == "refused" for each in handed),
            row.attempts >= MAIL.retries.attempts,
            letter.expires_ms <= row.done_ms + MAIL.retries.pause_max_ms,
        )
        if row.sent_ms is None and not any(reasons):
            yield f"{row} was given up: {handed}"


def letters_go_at_once_where_nothing_is_wrong(case: Case) -> Iterator[str]:
    """Messages certainly written after the faults were over arrive at once."""
    bases_ms = [node.clock.base_ms + lead_ms for node in case.world.nodes for lead_ms in node.clock.leads_ms()]
    of_letters = _of_letters(case)
    for letter in case.memory.messages.values():
        first = (letter.created_ms - max(bases_ms)) / SECOND_MS
        last = (letter.created_ms - min(bases_ms)) / SECOND_MS
        if first > case.world.heal_at + HEALED_SECONDS and not any(
            each.delivered and each.start <= last + PROMPT_SECONDS for each in of_letters.get(letter.id, [])
        ):
            yield f"{letter.id} was made between {first:.3f} and {last:.3f}, and did not arrive: {of_letters.get(letter.id)}"


def every_mail_was_judged_with_its_transaction(case: Case) -> Iterator[str]:
    """Mails come from the transactions of keys, sessions, devices and the ledger, and from no other."""
    for message in case.memory.messages.values():
        if message.id not in case.world.log.mailed:
            yield f"no change calls for {message}"
