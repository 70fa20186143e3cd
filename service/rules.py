"""From the configuration to the rules of what people do: codes by email and sessions."""

from actors.clock import DAY_MS, MINUTE_MS, SECOND_MS
from actors.codes import CodeRules
from actors.sessions.state import SessionRules
from service.config import Config


def code_rules(config: Config) -> CodeRules:
    claim = config.claim
    return CodeRules(
        life_ms=claim.code_minutes * MINUTE_MS,
        attempts=claim.code_attempts,
        pause_ms=claim.code_pause_seconds * SECOND_MS,
        per_day=claim.codes_per_day,
    )


def session_rules(config: Config) -> SessionRules:
    sessions = config.sessions
    return SessionRules(
        life_ms=sessions.days * DAY_MS,
        touch_ms=sessions.touch_seconds * SECOND_MS,
        per_account=sessions.per_account,
        codes=code_rules(config),
    )
