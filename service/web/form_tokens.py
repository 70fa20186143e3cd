"""Forms that do their work once, however often they are sent: by the name that each form of a signed-in person holds."""

import logging
import re

from actors.sessions.actor import SessionKeeper
from actors.values import CallFailed, Refused
from service.api.deadlines import best_effort
from service.api.errors import not_valid
from service.web.pages.page import Act, FormError, PageRefused, PageRequest, SeeOther, Template

FORM_BYTES = 16
_FORM_ID = re.compile(r"[0-9a-f]{32}")

log = logging.getLogger(__name__)


async def consume_form_token(sessions: SessionKeeper, visit: PageRequest, act: Act) -> Template | SeeOther | FormError:
    """What the act ends in; a form that was sent before does nothing and leads back to its page.

    The name is spent before the act, in a transaction of its own, and given back where the act came to nothing: a form that
    was refused may be put right and sent again. What only its own operation can know, such as a payment that was made
    although its answer was lost, is guarded there.
    """
    person, form_id = visit.caller.signed_in, visit.form.get("form_id")
    if person is None or form_id is None:
        return await act(visit)
    if not _FORM_ID.fullmatch(form_id):
        raise PageRefused(not_valid())
    spent = await sessions.consume_form(person.session.id, form_id)
    if isinstance(spent, Refused):
        raise PageRefused(spent)
    if not spent.first:
        return SeeOther(visit.request.path, "sent_already")
    try:
        done = await act(visit)
    except Exception:
        await _give_back(sessions, person.session.id, form_id)
        raise
    if isinstance(done, FormError):
        await _give_back(sessions, person.session.id, form_id)
    return done


async def _give_back(sessions: SessionKeeper, session_id: str, form_id: str) -> None:
    """Where it is lost, the page is shown with a fresh form all the same."""
    with best_effort():
        try:
            await sessions.release_form(session_id, form_id)
        except CallFailed as error:
            log.warning("a form of %s was not given back: %s", session_id, type(error).__name__)
