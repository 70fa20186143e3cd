"""Operations on a whole account: export and delete it, and choose its mails, also by the links in them."""

from functools import partial

from actors.accounts.messages import Deletion, MailChoices, MailsChosen
from actors.keys.validity import ADMIN_SCOPES
from actors.shared.announcements import Topic
from actors.shared.codes import emailed_code
from actors.values import Account, Agent, Code, Refused, Scope
from service.api.context import Services
from service.api.errors import Family
from service.api.messages import Answer, respond
from service.api.operation import Call, Operation, account_operation
from service.api.policy import Access, Budget
from service.schemas.account import (
    AccountDeletion,
    AccountExport,
    DeletionCodeSent,
    DeletionConfirm,
    DeletionUndone,
    ExportQuery,
    Notifications,
    NotificationsEdit,
)
from service.schemas.internal import StoppedMails


async def export_account(services: Services, call: Call) -> Answer | Refused:
    query: ExportQuery = call.query
    caller = call.caller
    purpose = f"account {caller.owner}"  # not that of 1.1, which had other places
    place = None if query.cursor is None else services.cursors.decode(purpose, query.cursor)
    account = Account(caller.email, caller.owner, 0)
    found, rest = await services.accounts.export(account, None if place is None else (place[0], place[1]), query.limit)
    page = AccountExport(
        email=caller.email,
        exportedAt=services.clock.now_ms(),
        tables={table: [dict(row.row) for row in rows] for table, rows in found.items()},
        cursor=None if rest is None else services.cursors.encode(purpose, rest),
        hasMore=rest is not None,
    )
    return Answer.of(page, ("content-disposition", 'attachment; filename="account.json"'))


async def get_deletion(services: Services, call: Call) -> Answer | Refused:
    return Answer.of(_deletion(await services.accounts.deletion_of(call.caller.owner)))


def _deletion(deletion: Deletion | None) -> AccountDeletion:
    due_ms = None if deletion is None else deletion.due_ms
    return AccountDeletion(scheduled=due_ms is not None, deletesAt=due_ms)


async def start_deletion(services: Services, call: Call) -> Answer | Refused:
    outcome = await services.accounts.start_deletion(call.caller.email)
    services.mail.wake()
    return respond(outcome, lambda _: DeletionCodeSent(sent=True))


async def confirm_deletion(services: Services, call: Call) -> Answer | Refused:
    body: DeletionConfirm = call.body
    code = emailed_code(body.code)
    if isinstance(code, Refused):
        return code
    outcome = await services.accounts.confirm_deletion(call.caller.email, code, call.caller.agent)
    services.mail.wake()
    return respond(outcome, lambda scheduled: _deletion(scheduled.deletion))


async def undo_deletion(services: Services, call: Call) -> Answer | Refused:
    outcome = await services.accounts.undo_deletion(call.caller.email, call.caller.agent)
    services.mail.wake()
    return respond(outcome, lambda _: DeletionUndone(undone=True))


LINK = Agent("system", "unsubscribe link")


async def read_notifications(services: Services, call: Call) -> Answer | Refused:
    return Answer.of(_choices(await services.accounts.mail_choices(call.caller.email)))


async def edit_notifications(services: Services, call: Call) -> Answer | Refused:
    body: NotificationsEdit = call.body
    choices = {Topic(name): on for name, on in body.model_dump(exclude_unset=True).items()}
    chosen = await services.accounts.choose_mails(call.caller.email, choices, call.caller.agent)
    return respond(chosen, lambda done: _choices(done.choices))


def _choices(choices: MailChoices) -> Notifications:
    return Notifications(reviews=choices.reviews, bookings=choices.bookings, reports=choices.reports)


async def view_stopping(services: Services, call: Call) -> Answer | Refused:
    """The mails that a link turns off. Reading it changes nothing, because mail programs open links by themselves."""
    link = services.links.stopping(call.path_values["token"])
    if link is None:
        return _unknown_link()
    email, topic = link
    choices = await services.accounts.mail_choices(email)
    return Answer.of(StoppedMails(email=email, topic=topic.value, stopped=not getattr(choices, topic)))


async def stop_mails(services: Services, call: Call) -> Answer | Refused:
    """Turn the topic off. Repeating this changes nothing."""
    link = services.links.stopping(call.path_values["token"])
    if link is None:
        return _unknown_link()
    email, topic = link
    chosen = await services.accounts.choose_mails(email, {topic: False}, Agent(LINK.type, LINK.id, email))
    if isinstance(chosen, Refused) and chosen.code is Code.NOT_FOUND:
        # The account is deleted, and gets no more mails about anything.
        chosen = MailsChosen(MailChoices(email))
    return respond(chosen, lambda _: StoppedMails(email=email, topic=topic.value, stopped=True))


def _unknown_link() -> Refused:
    return Refused(Code.NOT_FOUND, "This link is not valid.")


_account = partial(account_operation, tag="Account")
_notifications = partial(_account, path="/api/v1/account/notifications", result=Notifications)
_deciding = partial(Operation, tag="Account", family=Family.SPONSORSHIP, access=Access.SESSION, while_suspended=True)
"""Only a person in a browser, so that a stolen key cannot delete the account."""

ROWS = (
    _account(
        name="exportAccount",
        method="GET",
        path="/api/v1/account/export",
        summary="Export the account",
        description="Returns all rows that are stored about the account, table by table, in pages of at most `limit` rows. "
        "A scoped key needs all scopes of an account.",
        handler=export_account,
        result=AccountExport,
        query=ExportQuery,
        headers=("Content-Disposition",),
        scopes=tuple(scope for scope in Scope if scope not in ADMIN_SCOPES),
        budget=Budget.EXPORT,
        while_suspended=True,
    ),
    _deciding(
        name="deleteAccount",
        method="DELETE",
        path="/api/v1/account",
        summary="Delete the account",
        description="Sends a 6-digit code to the account's email address. Nothing is deleted until the code confirms it. "
        "Refused for the last administrator, and while paid weeks of the account lie ahead.",
        handler=start_deletion,
        result=DeletionCodeSent,
        codes=(Code.INVALID_STATE, Code.NOT_FOUND),
    ),
    _deciding(
        name="getAccountDeletion",
        method="GET",
        path="/api/v1/account/deletion",
        summary="Get the deletion of the account",
        description="Returns whether the account is going to be deleted, and when.",
        handler=get_deletion,
        result=AccountDeletion,
    ),
    _deciding(
        name="confirmAccountDeletion",
        method="POST",
        path="/api/v1/account/deletion",
        summary="Confirm the deletion of the account with the emailed code",
        description="Schedules the deletion. Until `deletesAt` the account works as before, and the deletion can be undone. "
        "Then its keys and sessions end, and its data is erased. Bookings that were paid stay, with the sponsor's name.",
        handler=confirm_deletion,
        result=AccountDeletion,
        body=DeletionConfirm,
        example={"code": "123456"},
        codes=(Code.INVALID_CODE, Code.INVALID_STATE, Code.NOT_FOUND),
    ),
    _deciding(
        name="undoAccountDeletion",
        method="DELETE",
        path="/api/v1/account/deletion",
        summary="Undo the deletion of the account",
        description="Undoes a scheduled deletion. Repeating the request has no effect.",
        handler=undo_deletion,
        result=DeletionUndone,
        codes=(Code.NOT_FOUND,),
    ),
    _notifications(
        name="getNotifications",
        method="GET",
        summary="Get the notifications of the account",
        description="Returns the topics about which the account gets mails. Mails about security and money have no topic "
        "and are always sent.",
        handler=read_notifications,
        scopes=(Scope.SPONSOR_READ,),
    ),
    _notifications(
        name="editNotifications",
        repeatable=True,
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
