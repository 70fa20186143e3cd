"""What a session may do with the passkeys of its account, and the refusals about them. Pure."""

from dataclasses import dataclass

from actors.sessions.messages import Session
from actors.times import MINUTE_MS
from actors.values import Code, Refused

SIGN_IN = "/api/v1/auth/session"
"""The operation that begins a sign-in: the hint of refusals for want of one, where a new key would not help."""


@dataclass(frozen=True, slots=True)
class PasskeyRules:
    """Limits of passkeys; times in milliseconds. `fresh_ms` is how long a sign-in or a shown passkey allows changes to the
    account's passkeys."""

    per_account: int = 10
    challenge_ms: int = 5 * MINUTE_MS
    sign_in_ms: int = 10 * MINUTE_MS
    fresh_ms: int = 10 * MINUTE_MS


def may_add(session: Session, now_ms: int, rules: PasskeyRules, *, first: bool) -> bool:
    """Whether a session may add a passkey: it has shown one, or it has just begun and there is none yet (`first`). A stolen
    cookie is mostly older."""
    return session.passkey_ms is not None or (first and now_ms - session.created_ms < rules.fresh_ms)


def confirmed_until(session: Session, rules: PasskeyRules) -> int:
    """Until when a session may remove passkeys: for a while after it has shown one."""
    return 0 if session.passkey_ms is None else session.passkey_ms + rules.fresh_ms


def not_verified() -> Refused:
    """One refusal for wrong, expired and used challenges, unknown passkeys and bad signatures."""
    return Refused(Code.INVALID_PASSKEY, "The passkey could not be verified. Try again.")


def sign_in_ended() -> Refused:
    return Refused(Code.UNAUTHORIZED, "This sign-in has ended. Ask for a new code.", hint=SIGN_IN)


def unknown_passkey() -> Refused:
    return Refused(Code.NOT_FOUND, "There is no such passkey.")


def not_available() -> Refused:
    words = "Passkeys need a host name with https, or http://localhost: browsers offer none at this address."
    return Refused(Code.INVALID_STATE, words)
