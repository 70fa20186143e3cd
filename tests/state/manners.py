"""Properties of all refusals and audit records, checked wherever these tests make one."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from actors.values import AuditRecord, Code, Refused

_TARGETS = {"profile": "sponsor", "session": "session"}
"""The target type of actions whose first word differs from it."""


def well_said(answers: Iterable[object]) -> None:
    """A refusal is shown to people as it is: it has a code and consists of whole sentences."""
    for answer in answers:
        if isinstance(answer, Refused):
            assert isinstance(answer.code, Code)
            assert re.fullmatch(r"[A-Za-z].*\.", answer.message), answer.message
            assert answer.message[0].isupper() or answer.message.startswith("weekStart"), answer.message
            assert answer.message != answer.message.upper(), answer.message


def well_kept(audits: Iterable[AuditRecord], now_ms: int, known: Mapping[str, Iterable[Any]]) -> None:
    """An audit record has the target type of its action and names an existing target; `known` has the ids."""
    for record in audits:
        word = record.action.partition(".")[0]
        assert record.target_type == _TARGETS.get(word, word), record
        assert record.target_id in known[record.target_type], record
        assert record.created_ms == now_ms, record
        assert all((record.id, record.actor_type, record.actor_id, record.request_id)), record
