"""Operations on the mails that an account gets, and those behind the links in mails that turn a topic off."""

from functools import partial

from actors.accounts.messages import MailChoices, MailsChosen
from actors.shared.announcements import Topic
from actors.values import Agent, Code, Refused, Scope
from service.api.context import Services
from service.api.errors import Family
from service.api.messages import Answer, respond
from service.api.operation import Call, Operation
from service.api.policy import Access
from service.schemas.account import Notifications, NotificationsEdit
from service.schemas.internal import StoppedMails

LINK = Agent("system", "unsubscribe link")


async def read_notifications(services: Services, call: Call) -> Answer | Refused:
    return Answer.of(_shown(await services.accounts.mail_choices(call.caller.email)))


async def edit_notifications(services: Services, call: Call) -> Answer | Refused:
    body: NotificationsEdit = call.body
    choices = {Topic(name): on for name, on in body.model_dump(exclude_unset=True).items()}
    chosen = await services.accounts.choose_mails(call.caller.email, choices, call.caller.agent)
    return respond(chosen, lambda done: _shown(done.choices))


def _shown(choices: MailChoices) -> Notifications:
    return Notifications(reviews=choices.reviews, bookings=choices.bookings, reports=choices.reports)


async def view_stopping(services: Services, call: Call) -> Answer | Refused:
    """The mails that a link turns off. Reading it changes nothing, because mail programs open links by themselves."""
    link = services.links.stopping(call.path_values["token"])
    if link is None:
        return _unknown()
    email, topic = link
    choices = await services.accounts.mail_choices(email)
    return Answer.of(StoppedMails(email=email, topic=topic.value, stopped=not getattr(choices, topic)))


async def stop_mails(services: Services, call: Call) -> Answer | Refused:
    """Turn the topic off. Repeating this changes nothing."""
    link = services.links.stopping(call.path_values["token"])
    if link is None:
        return _unknown()
    email, topic = link
    chosen = await services.accounts.choose_mails(email, {topic: False}, Agent(LINK.type, LINK.id, email))
    if isinstance(chosen, Refused) and chosen.code is Code.NOT_FOUND:
        # The account is deleted, and gets no more mails about anything.
        chosen = MailsChosen(MailChoices(email))
    return respond(chosen, lambda _: StoppedMails(email=email, topic=topic.value, stopped=True))


def _unknown() -> Refused:
    return Refused(Code.NOT_FOUND, "This link is not valid.")


_account = partial(
    Operation,
    tag="Account",
    family=Family.SPONSORSHIP,
    path="/api/v1/account/notifications",
    result=Notifications,
    access=Access.REQUIRED,
    metered=True,
)

ROWS = (
    _account(
        name="getNotifications",
        method="GET",
        summary="Get the notifications of the account",
        description="Returns the topics about which the account gets mails. Mails about security and money have no topic "
        "and are always sent.",
        handler=read_notifications,
        scopes=(Scope.SPONSOR_READ,),
    ),
    _account(
        name="editNotifications",
        method="PATCH",
        summary="Edit the notifications of the account",
        description="Turns mails about the topics that you send on or off. Repeating the request has no effect.",
        handler=edit_notifications,
        body=NotificationsEdit,
        example={"reports": False},
        scopes=(Scope.SPONSOR_WRITE,),
        codes=(Code.NOT_FOUND,),
    ),
)
