"""Log in by device authorization (RFC 8628), and log out."""

from functools import partial

from service.catalogctl.addresses import URL_VARIABLE, is_in_clear
from service.catalogctl.client import Reply
from service.catalogctl.credentials import Credential, Saved
from service.catalogctl.device import CLIENT_ID, GRANT_TYPE, START, TOKEN, Ended, Granted, Polling, Started, Wait
from service.catalogctl.failures import Exit, Misused, Refused, Unreachable
from service.catalogctl.output import Format
from service.catalogctl.session import KEY_VARIABLE, Session
from service.catalogctl.texts import harmless


def log_in(session: Session) -> None:
    """Get a key, which a person approves in a browser, and save it."""
    session.keyring.prepare()
    if is_in_clear(session.base):
        session.warn(f"{session.base} is not encrypted: others can read the new key on the network")
    outside, client = session.outside, session.client
    started = Started.of(client.accepted(client.post_form(START, {"client_id": CLIENT_ID})).document)
    if started is None:
        raise Unreachable(f"{session.base} started the login with a response that does not follow RFC 8628")
    polling = Polling(outside.now() + started.expires_in_seconds, started.interval_seconds)
    _invite(session, started)
    granted = _poll(session, polling, started.device_code)
    before = session.saved.credentials.get(session.base)
    credential = Credential(granted.api_key, granted.key_prefix, granted.tenant_id)
    session.keyring.change(lambda saved: saved.with_one(session.base, credential))
    prefix = granted.key_prefix
    session.present(
        {"service": session.base, "keyPrefix": prefix, "tenantId": granted.tenant_id},
        [f"Logged in to {session.base} with the key {harmless(prefix)}..."],
        [harmless(prefix)] if prefix else [],
    )
    if before is not None:
        session.note(
            f"The key of the previous login, {harmless(before.key_prefix)}..., stays valid until you revoke it:",
            f"{session.base}/dashboard",
        )
    if outside.environment.get(KEY_VARIABLE):
        session.note(f"{KEY_VARIABLE} is set and takes precedence over this login.")


def _invite(session: Session, started: Started) -> None:
    if session.format is Format.JSON:
        session.printer.tell(
            verificationUri=harmless(started.verification_uri),
            verificationUriComplete=harmless(started.page),
            userCode=harmless(started.user_code),
            expiresInSeconds=round(started.expires_in_seconds),
        )
    else:
        session.note(f"Open   {harmless(started.verification_uri)}", f"Enter  {harmless(started.user_code)}", "")
    if not session.options.no_browser and session.outside.browse(started.page):
        session.note("Your browser was opened; approve only if it shows this code.")
    minutes = max(1, round(started.expires_in_seconds / 60))
    session.note(f"Waiting for your approval; the code is good for {minutes} min. Ctrl-C stops.")


def _poll(session: Session, polling: Polling, device_code: str) -> Granted:
    """Poll until there is a key. Raises `Failure` if the login fails."""
    form = {"grant_type": GRANT_TYPE, "device_code": device_code, "client_id": CLIENT_ID}
    step: Wait | Granted | Ended = polling.first()
    reply: Reply | None = None
    while isinstance(step, Wait):
        session.outside.sleep(step.seconds)
        try:
            reply = session.client.post_form(TOKEN, form)
        except Unreachable as error:
            reply = None
            if polling.losses == 0:
                session.note(f"{error}; trying again")
        step = polling.after(reply, session.outside.now())
    if isinstance(step, Granted):
        return step
    if step.words is None and reply is not None:
        session.client.accepted(reply)
    words = step.words or "the login failed"
    if step.code is Exit.UNREACHABLE:
        raise Unreachable(words)
    raise Refused(words, step.error)


def log_out(session: Session) -> None:
    """Delete the saved key of the service, or of all services."""
    if session.options.all:
        gone = list(session.saved.credentials)
    else:
        gone = [base for base in session.saved.credentials if base == session.base]
    if not gone:
        raise Misused(f"you are not logged in to {'any service' if session.options.all else session.base}")
    prefixes = {base: session.saved.credentials[base].key_prefix for base in gone}
    for base in gone:
        session.keyring.change(partial(Saved.without, base=base))
    session.present(
        {"deleted": [{"service": base, "keyPrefix": prefix} for base, prefix in prefixes.items()]},
        [f"Deleted the saved key {harmless(prefix)}... of {base}." for base, prefix in prefixes.items()],
        [],
    )
    session.hint(*(f"The key stays valid until you revoke it at {base}/dashboard" for base in gone))
    if session.outside.environment.get(KEY_VARIABLE):
        session.note(f"{KEY_VARIABLE} is still set and is sent to the service of {URL_VARIABLE} or --url.")
