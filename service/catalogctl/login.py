"""Logs in by device authorization (RFC 8628), and logs out.

`Polling` decides when to poll, and what a response means. It takes the time as an argument, and never sleeps.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

from service.catalogctl.client import URL_VARIABLE, Reply, is_in_clear, is_page, text_of
from service.catalogctl.credentials import Credential, Saved
from service.catalogctl.failures import Exit, Misused, Refused, Unreachable
from service.catalogctl.session import KEY_VARIABLE, Format, Session
from service.terminal.layout import harmless

START, TOKEN = "/api/v1/auth/device", "/api/v1/auth/device/token"
CLIENT_ID = "catalogctl"
GRANT_TYPE = "urn:ietf:params:oauth:grant-type:device_code"

INTERVAL_SECONDS = 5.0
"""The default interval, and the increase for a slow_down without an interval (RFC 8628, 3.2 and 3.5)."""
LONGEST_INTERVAL_SECONDS = 300.0
LONGEST_BACKOFF_SECONDS = 60.0
LONGEST_LIFE_SECONDS = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Started:
    """The response that starts a login. `page` includes the code if the service offers such an address."""

    device_code: str
    user_code: str
    verification_uri: str
    page: str
    expires_in_seconds: float
    interval_seconds: float

    @classmethod
    def of(cls, document: dict[str, Any]) -> "Started | None":
        """The parsed response, or None if it does not follow RFC 8628, 3.2."""
        address = text_of(document, "verification_uri")
        life = _number(document, "expires_in")
        codes = text_of(document, "device_code"), text_of(document, "user_code")
        if not (all(codes) and is_page(address) and life):
            return None
        whole = text_of(document, "verification_uri_complete")
        pace = _number(document, "interval") or INTERVAL_SECONDS
        return cls(
            *codes,
            address,
            whole if is_page(whole) else address,
            min(life, LONGEST_LIFE_SECONDS),
            min(pace, LONGEST_INTERVAL_SECONDS),
        )


@dataclass(frozen=True, slots=True)
class Ended:
    """The login failed. `words` is None if the service's own message should be shown. `error` is the error code."""

    words: str | None
    code: Exit = Exit.REFUSED
    error: str = "login_failed"


EXPIRED = Ended("the code expired before it was approved; run catalogctl login again", error="expired_token")


@dataclass(frozen=True, slots=True)
class Wait:
    """Poll again after `seconds`."""

    seconds: float


@dataclass(slots=True)
class Polling:
    """The state of a login. Times are seconds of one clock."""

    expires_at: float
    interval_seconds: float
    losses: int = 0

    def after(self, reply: Reply | None, now: float) -> Wait | Credential | Ended:
        """The next step after a response, or after None if it was lost."""
        if reply is not None and 200 <= reply.status < 300:
            return granted_by(reply.document)
        step = self._lost() if reply is None or _is_gateway(reply) else self._answered(reply)
        if isinstance(step, Ended):
            return step
        left = self.expires_at - now
        if left <= 0:
            return self._expired(reply)
        return Wait(min(step.seconds, left))

    def _answered(self, reply: Reply) -> Wait | Ended:
        self.losses = 0
        match reply.error:
            case "authorization_pending":
                return Wait(self.interval_seconds)
            case "slow_down":
                asked = _number(reply.document, "interval") or self.interval_seconds + INTERVAL_SECONDS
                self.interval_seconds = min(max(asked, self.interval_seconds), LONGEST_INTERVAL_SECONDS)
                return Wait(self.interval_seconds)
            case "expired_token":
                return EXPIRED
            case "access_denied":
                return Ended("the login was denied in the browser", error=reply.error)
            case "invalid_code":
                return Ended(
                    "the service no longer knows this login; if it was approved, revoke its key in the dashboard, "
                    "then run catalogctl login again",
                    error=reply.error,
                )
        if reply.status in (429, 503):
            return Wait(max(self.interval_seconds, reply.wait_seconds or 0))
        return Ended(None)

    def _lost(self) -> Wait:
        """Back off exponentially (RFC 8628, 3.5)."""
        self.losses += 1
        backoff = self.interval_seconds * 2 ** min(self.losses, 10)
        return Wait(max(self.interval_seconds, min(backoff, LONGEST_BACKOFF_SECONDS)))

    def _expired(self, reply: Reply | None) -> Ended:
        if reply is None:
            return Ended(
                "the service could not be reached before the code expired; run catalogctl login again", Exit.UNREACHABLE
            )
        return EXPIRED


def granted_by(document: dict[str, Any]) -> Credential | Ended:
    """The key of a success, under either of its two names."""
    key = text_of(document, "access_token") or text_of(document, "apiKey")
    if not key:
        return Ended("the service approved the login but returned no key", Exit.UNREACHABLE)
    return Credential(key, text_of(document, "keyPrefix"), text_of(document, "tenantId"))


def _is_gateway(reply: Reply) -> bool:
    """Whether a gateway answered, or the service failed in a way that a later poll may not."""
    return reply.status >= 500 and reply.status != 503


def _number(document: dict[str, Any], name: str) -> float | None:
    """A number above zero, or None."""
    value = document.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9:
        return None
    return float(value)


def log_in(session: Session) -> None:
    """Get a key, which a person approves in a browser, and save it."""
    session.keyring.prepare()
    if is_in_clear(session.base):
        session.printer.warn(f"{session.base} is not encrypted: others can read the new key on the network")
    outside, client = session.outside, session.client
    started = Started.of(client.accepted(client.post_form(START, {"client_id": CLIENT_ID})).document)
    if started is None:
        raise Unreachable(f"{session.base} started the login with a response that does not follow RFC 8628")
    polling = Polling(outside.now() + started.expires_in_seconds, started.interval_seconds)
    _invite(session, started)
    granted = _poll(session, polling, started.device_code)
    before = session.saved.credentials.get(session.base)
    session.keyring.change(lambda saved: saved.with_one(session.base, granted))
    prefix = granted.key_prefix
    session.printer.present(
        {"service": session.base, "keyPrefix": prefix, "tenantId": granted.tenant_id},
        [f"Logged in to {session.base} with the key {harmless(prefix)}..."],
        [harmless(prefix)] if prefix else [],
    )
    if before is not None:
        session.printer.note(
            f"The key of the previous login, {harmless(before.key_prefix)}..., stays valid until you revoke it:",
            f"{session.base}/dashboard",
        )
    if outside.environment.get(KEY_VARIABLE):
        session.printer.note(f"{KEY_VARIABLE} is set and takes precedence over this login.")


def _invite(session: Session, started: Started) -> None:
    if session.printer.format is Format.JSON:
        session.printer.write_error_json(
            verificationUri=harmless(started.verification_uri),
            verificationUriComplete=harmless(started.page),
            userCode=harmless(started.user_code),
            expiresInSeconds=round(started.expires_in_seconds),
        )
    else:
        session.printer.note(
            f"Open   {harmless(started.verification_uri)}", f"Enter  {harmless(started.user_code)}", ""
        )
    if not session.option("no_browser") and session.outside.browse(started.page):
        session.printer.note("Your browser was opened; approve only if it shows this code.")
    minutes = max(1, round(started.expires_in_seconds / 60))
    session.printer.note(f"Waiting for your approval; the code is good for {minutes} min. Ctrl-C stops.")


def _poll(session: Session, polling: Polling, device_code: str) -> Credential:
    """Poll until there is a key. Raises `Failure` if the login fails."""
    form = {"grant_type": GRANT_TYPE, "device_code": device_code, "client_id": CLIENT_ID}
    step: Wait | Credential | Ended = Wait(polling.interval_seconds)
    reply: Reply | None = None
    while isinstance(step, Wait):
        session.outside.sleep(step.seconds)
        try:
            reply = session.client.post_form(TOKEN, form)
        except Unreachable as error:
            reply = None
            if polling.losses == 0:
                session.printer.note(f"{error}; trying again")
        step = polling.after(reply, session.outside.now())
    if isinstance(step, Credential):
        return step
    if step.words is None and reply is not None:
        session.client.accepted(reply)
    words = step.words or "the login failed"
    if step.code is Exit.UNREACHABLE:
        raise Unreachable(words)
    raise Refused(words, step.error)


def log_out(session: Session) -> None:
    """Delete the saved key of the service, or of all services."""
    every = session.option("all")
    gone = [base for base in session.saved.credentials if every or base == session.base]
    if not gone:
        raise Misused(f"you are not logged in to {'any service' if every else session.base}")
    prefixes = {base: session.saved.credentials[base].key_prefix for base in gone}
    for base in gone:
        session.keyring.change(partial(Saved.without, base=base))
    session.printer.present(
        {"deleted": [{"service": base, "keyPrefix": prefix} for base, prefix in prefixes.items()]},
        [f"Deleted the saved key {harmless(prefix)}... of {base}." for base, prefix in prefixes.items()],
        [],
    )
    session.printer.hint(*(f"The key stays valid until you revoke it at {base}/dashboard" for base in gone))
    if session.outside.environment.get(KEY_VARIABLE):
        session.printer.note(f"{KEY_VARIABLE} is still set and is sent to the service of {URL_VARIABLE} or --url.")
