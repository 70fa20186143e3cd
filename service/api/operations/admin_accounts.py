"""Operations of administrators on accounts: lists, one account, tiers, suspension, and refunds of all weeks."""

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

from actors.accounts.store import AccountDetails as Details
from actors.accounts.store import AccountFilter, AccountLine
from actors.keys.messages import SuspensionSet
from actors.keys.suspension import unknown_account
from actors.keys.validity import is_live
from actors.values import Code, Refused, Tenant, Tier
from service.api.context import Services
from service.api.messages import Answer
from service.api.operation import Call, Handler, admin_read, admin_write
from service.api.operations.account import account_key, usage_of
from service.api.operations.admin_exports import accounts_file
from service.api.operations.responses import linked, with_id
from service.api.operations.scoped_keys import revoke
from service.schemas.account import AccountKeys
from service.schemas.admin_accounts import (
    Account,
    AccountAnswer,
    AccountDetails,
    AccountDetailsAnswer,
    AccountPage,
    AccountRefundBody,
    AccountRefunds,
    AccountsQuery,
    AccountUsage,
    BookingNumbers,
    RefundSum,
    SuspendBody,
)
from service.schemas.keys import AccountTier, KeyRevoked, TierOrder
from service.schemas.lists import DEFAULT_LIMIT

KEYS = 100
"""Keys of an account that its page shows at most: more than an account has with the default limits."""

REFUNDS = 25
"""Refunds that one request orders at most. Each is a transaction, and all of them fit into the request's time."""


async def list_accounts(services: Services, call: Call) -> Answer | Refused:
    query: AccountsQuery = call.query
    wanted = wanted_of(query)
    if query.format == "csv":
        return await accounts_file(services, wanted)
    purpose = f"accounts {wanted!r} {call.caller.owner}"
    after = None if query.cursor is None else services.cursors.decode(purpose, query.cursor)
    spot = None if after is None else (int(after[0]), str(after[1]))
    found = await services.accounts.page_of(wanted, spot, query.limit or DEFAULT_LIMIT)
    total = None if wanted.scans else await services.accounts.count(suspended=wanted.suspended)
    cursor = None if found.after is None else services.cursors.encode(purpose, found.after)
    items = [account_of(line) for line in found.lines]
    page = AccountPage(items=items, cursor=cursor, hasMore=cursor is not None, total=total)
    return linked(services, call, Answer.of(page), cursor)


def wanted_of(query: AccountsQuery) -> AccountFilter:
    """The filter of a query. Emails are stored in lower case."""
    return AccountFilter(
        text=None if query.query is None else query.query.strip().lower(),
        tier=None if query.tier is None else Tier(query.tier),
        suspended=None if query.suspended is None else query.suspended == "true",
    )


def account_of(line: AccountLine) -> Account:
    return Account.of(line.account, line.tier.value, line.sponsor_name, admin=line.admin)


def with_account(handler: Callable[[Services, Call, Details], Awaitable[Answer | Refused]]) -> Handler:
    """Pass the account with the path's `id` to a handler."""

    @with_id(unknown_account)
    async def found(services: Services, call: Call, account_id: str) -> Answer | Refused:
        details = await services.accounts.details(account_id)
        return unknown_account() if details is None else await handler(services, call, details)

    return found


@with_account
async def get_account(services: Services, call: Call, found: Details) -> Answer | Refused:
    account_id = found.line.account.tenant_id
    tenant = await services.quota.read(account_id) or Tenant(account_id, found.line.tier)
    deletion = await services.accounts.deletion_of(account_id)
    shown = _details(services, found, tenant, None if deletion is None else deletion.due_ms)
    return Answer.of(AccountDetailsAnswer(account=shown))


def _details(services: Services, found: Details, tenant: Tenant, deletes_ms: int | None) -> AccountDetails:
    usage = usage_of(tenant, "", found.line.account.email, services.quota.caps)
    return AccountDetails(
        **dict(account_of(found.line)),
        usage=AccountUsage(
            requestsUsed=usage.requestsUsed,
            requestLimit=usage.requestLimit,
            dailyRequestsUsed=usage.dailyRequestsUsed,
            dailyRequestLimit=usage.dailyRequestLimit,
        ),
        keys=found.keys,
        sessions=found.sessions,
        campaigns=found.campaigns,
        bookings=BookingNumbers.model_validate(found.bookings),
        deletesAt=deletes_ms,
    )


async def set_tier(services: Services, call: Call) -> Answer | Refused:
    body: TierOrder = call.body
    outcome = await services.keys.set_tier(body.email, Tier(body.tier), call.caller.agent)
    if isinstance(outcome, Refused):
        return outcome
    services.key_cache.forget(tenants=[outcome.tenant.id])
    return Answer.of(AccountTier(email=body.email, tier=body.tier, tenantId=outcome.tenant.id))


@with_account
async def suspend(services: Services, call: Call, found: Details) -> Answer | Refused:
    body: SuspendBody = call.body
    outcome = await services.keys.suspend(found.line.account, body.reason, call.caller.agent)
    return _changed(services, found.line, outcome)


@with_account
async def restore(services: Services, call: Call, found: Details) -> Answer | Refused:
    return _changed(services, found.line, await services.keys.restore(found.line.account, call.caller.agent))


def _changed(services: Services, line: AccountLine, outcome: SuspensionSet | Refused) -> Answer | Refused:
    if isinstance(outcome, Refused):
        return outcome
    services.key_cache.forget(tenants=[outcome.account.tenant_id])
    services.mail.wake()
    return Answer.of(AccountAnswer(account=account_of(replace(line, account=outcome.account))))


@with_account
async def refund_all(services: Services, call: Call, found: Details) -> Answer | Refused:
    """Each refund is a transaction of its own, so a request that ends early has ordered some, and repeating it the rest."""
    body: AccountRefundBody | None = call.body
    waiting = await services.sponsorship.refundable(found.line.account.tenant_id, services.clock.now_ms(), REFUNDS + 1)
    numbers: Counter[tuple[str, str]] = Counter()
    cents: Counter[tuple[str, str]] = Counter()
    for booking in waiting[:REFUNDS]:
        view = await services.ledger.order_refund(booking.id, None if body is None else body.reason, call.caller.agent)
        if not isinstance(view, Refused):
            kind = (booking.money_currency, booking.mode.value)
            numbers[kind] += 1
            # A person may have refunded a part by hand.
            cents[kind] += view.booking.refund_left_cents
    services.sweeper.wake()
    services.counts.forget()
    sums = [
        RefundSum.model_validate({"currency": kind[0], "mode": kind[1], "bookings": n, "amountCents": cents[kind]})
        for kind, n in sorted(numbers.items())
    ]
    return Answer.of(AccountRefunds(ordered=numbers.total(), sums=sums, hasMore=len(waiting) > REFUNDS))


async def list_keys(services: Services, call: Call) -> Answer | Refused:
    """The newest keys of an account that work, for its page."""
    keys, now_ms = await services.keys.live_keys(call.path_values["id"]), services.clock.now_ms()
    shown = [key for key in keys if is_live(key, now_ms)][:KEYS]
    used = await services.key_uses.last([key.id for key in shown])
    return Answer.of(AccountKeys(items=[account_key(key, used.get(key.id)) for key in shown]))


_writing = partial(admin_write, method="POST")

ROWS = (
    admin_read(
        name="listAccounts",
        path="/api/v1/admin/accounts",
        summary="List accounts",
        description="Returns accounts, newest first. `query` searches them.",
        handler=list_accounts,
        result=AccountPage,
        query=AccountsQuery,
        spreadsheet=True,
    ),
    _writing(
        name="setAccountTier",
        path="/api/v1/admin/accounts/tier",
        summary="Set an account's tier",
        description="Sets the tier of the account with this email. It applies on every node within a second.",
        handler=set_tier,
        result=AccountTier,
        body=TierOrder,
        example={"email": "agent-owner@example.com", "tier": "upgraded"},
        codes=(Code.NOT_FOUND,),
    ),
    admin_read(
        name="getAccount",
        path="/api/v1/admin/accounts/{id}",
        summary="Get one account",
        description="Returns an account with its use, and the numbers of its keys, sessions, campaigns and bookings.",
        handler=get_account,
        result=AccountDetailsAnswer,
        codes=(Code.NOT_FOUND,),
    ),
    _writing(
        name="suspendAccount",
        path="/api/v1/admin/accounts/{id}/suspend",
        summary="Suspend an account",
        description="Stops an account on every node within a second: its placements are not shown, its keys and sessions get "
        "403, and it can neither reserve nor check out. Payments that are under way are kept, and can be refunded. The owner "
        "gets a mail with the reason. Administrators cannot be suspended. Repeating the request has no effect.",
        handler=suspend,
        result=AccountAnswer,
        body=SuspendBody,
        example={"reason": "The ads lead to a page that installs software."},
        codes=(Code.NOT_FOUND, Code.INVALID_STATE),
    ),
    _writing(
        name="unsuspendAccount",
        path="/api/v1/admin/accounts/{id}/unsuspend",
        summary="Unsuspend an account",
        description="Ends the suspension of an account. Its keys work again, and its placements are shown in what is left of "
        "their weeks. Repeating the request has no effect.",
        handler=restore,
        result=AccountAnswer,
        codes=(Code.NOT_FOUND,),
    ),
    admin_write(
        name="revokeKey",
        method="DELETE",
        path="/api/v1/admin/keys/{id}",
        summary="Revoke any key",
        description="Permanently revokes a key of any account, or one that nobody has claimed, with all keys that it granted "
        "directly or through others. The key may be an administrator's, or that of this request. Repeating the request has "
        "no effect.",
        handler=partial(revoke, full=True, anybodys=True),
        result=KeyRevoked,
        codes=(Code.NOT_FOUND,),
    ),
    _writing(
        name="refundAccount",
        path="/api/v1/admin/accounts/{id}/refund",
        summary="Refund all weeks of an account",
        description=f"Orders the refund of the account's paid bookings whose weeks are not over, at most {REFUNDS} in a "
        "request. Disputed ones are left to the payer's bank. A booking is refunded once, however often you repeat the "
        "request.",
        handler=refund_all,
        result=AccountRefunds,
        body=AccountRefundBody,
        body_optional=True,
        example={"reason": "The account is suspended."},
        codes=(Code.NOT_FOUND,),
    ),
)
