"""The operations behind the links of mails that tell of a new key, session or administrator. Only pages call them."""

from actors.shared.notices import Ending
from actors.values import Agent, Code, Refused
from service.api.context import Services
from service.api.messages import Answer
from service.api.operation import Call
from service.schemas import internal as models
from service.tokens.links import EndingLink

AGENT = "link in a mail"


async def view_ending(services: Services, call: Call) -> Answer | Refused:
    """What a link ends. Reading it changes nothing, because mail programs open links by themselves."""
    link = _link(services, call)
    return _unknown() if link is None else _answer(link)


async def end_by_link(services: Services, call: Call) -> Answer | Refused:
    """End it. Repeating this changes nothing."""
    link = _link(services, call)
    if link is None:
        return _unknown()
    agent = Agent("system", AGENT, link.email)
    match link.ending:
        case Ending.KEY:
            revoked = await services.keys.revoke(link.target_id, agent)
            if not isinstance(revoked, Refused):
                services.key_cache.forget(revoked.changed)
        case Ending.SESSION:
            await services.sessions.end_session(link.target_id, link.email, agent)
        case Ending.ADMIN:
            await services.keys.revoke_admin(link.email, agent, granted_ms=int(link.target_id))
    # A key or a session that no longer exists has ended, too, and so has a grant that was followed by another one.
    return _answer(link, ended=True)


def _link(services: Services, call: Call) -> EndingLink | None:
    return services.links.ending(call.path_values["token"], services.clock.now_ms())


def _answer(link: EndingLink, *, ended: bool = False) -> Answer:
    return Answer.of(models.Ending(kind=link.ending.value, label=link.label, email=link.email, ended=ended))


def _unknown() -> Refused:
    return Refused(Code.NOT_FOUND, "This link is not valid, or it is older than 30 days.")
