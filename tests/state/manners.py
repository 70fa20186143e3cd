"""How all refusals and all records of the audit are, whatever they say: the worlds of these tests look at each of them."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from actors.values import AuditRecord, Code, Refused

_TARGETS = {"profile": "sponsor", "session": "session"}
"""What an action is about, where its first word does not say so."""


def well_said(answers: Iterable[object]) -> None:
    """A refusal is shown to people as it is: a code, and whole sentences."""
    for answer in answers:
        if isinstance(answer, Refused):
            assert isinstance(answer.code, Code)
            assert re.fullmatch(r"[A-Za-z].*\.", answer.message), answer.message
            assert answer.message[0].isupper() or answer.message.startswith("weekStart"), answer.message
            assert answer.message != answer.message.upper(), answer.message


def well_kept(audits: Iterable[AuditRecord], now_ms: int, known: Mapping[str, Iterable[Any]]) -> None:
    """A record says what kind of thing it is about, as its action does, and names one that is there; `known` has the ids."""
    for record in audits:
        word = record.action.partition(".")[0]
        assert record.target_type == _TARGETS.get(word, word), record
        assert record.target_id in known[record.target_type], record
        assert record.created_ms == now_ms, record
        assert all((record.id, record.actor_type, record.actor_id, record.request_id)), record
