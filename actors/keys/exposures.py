"""Records and messages of keys that were found in public (ADR 0111). None contains a key in clear."""

from dataclasses import dataclass

from actors.values import AuditRecord, OutboxMessage


@dataclass(frozen=True, slots=True)
class FoundKey:
    """The hash of a text that was found in public. The rule completes the record and the mail with the key and its owner.
    `url` is where it was found, if the mail may name that; otherwise empty."""

    hash: bytes
    audit: AuditRecord
    notice: OutboxMessage
    url: str = ""


@dataclass(frozen=True, slots=True)
class EndExposed:
    """Revoke the keys whose texts were found in public, each with the keys that `Revoke` ends with it if it still works, and
    mail their owners."""

    found: tuple[FoundKey, ...]


@dataclass(frozen=True, slots=True)
class ExposedEnded:
    """Committed: the hashes that keys have, whether they still worked or not, and the hashes of all keys that
    have ended with them. A node may not know yet that another one had ended them."""

    known: frozenset[bytes]
    changed: tuple[bytes, ...]
