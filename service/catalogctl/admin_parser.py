"""The commands of administrators and their arguments."""

import argparse
from collections.abc import Callable

from service.catalogctl import admin_lists, administering, deciding
from service.catalogctl.files import add_csv

STATES = ("reserved", "checkout", "paid", "expired", "cancelled", "refunding", "refunded")
CAMPAIGN_STATES = ("draft", "pending", "approved", "rejected", "paused")

Adder = Callable[..., argparse.ArgumentParser]
"""Adds a command by its name, summary and function."""

Paged = Callable[[argparse.ArgumentParser], argparse.ArgumentParser]


def add_admin_commands(add: Adder, paged: Paged) -> None:
    accounts = paged(add("accounts", "List or search accounts, newest first.", administering.list_accounts))
    accounts.add_argument("query", nargs="?", metavar="QUERY", help="a part of the email or sponsor's name, or an id")
    accounts.add_argument("--tier", choices=("claimed", "upgraded"), help="only accounts of this tier")
    accounts.add_argument("--suspended", action="store_true", help="only suspended accounts")
    account = add("account", "Show one account and what it has.", administering.show_account)
    suspend = add("suspend", "Suspend an account: nothing of it is shown or works.", administering.suspend_account)
    suspend.add_argument("--reason", required=True, help="the owner reads it")
    restore = add("unsuspend", "Restore a suspended account.", administering.restore_account)
    refund = add(
        "refund-account", "Refund all paid weeks of an account that are not over.", administering.refund_account
    )
    refund.add_argument("--reason", help="stored in the audit")
    for one in (account, suspend, restore, refund):
        one.add_argument("account", metavar="ACCOUNT", help="its id")
    bookings = paged(add("bookings", "List and filter the bookings of all sponsors.", administering.list_bookings))
    bookings.add_argument(
        "query", nargs="?", metavar="QUERY", help="a booking, a payment, or a part of a sponsor's name"
    )
    bookings.add_argument("--status", choices=STATES, help="only bookings in this state")
    bookings.add_argument("--week", metavar="MONDAY", help="only bookings of this week, such as 2026-12-28")
    bookings.add_argument("--sponsor", metavar="ID", help="only bookings of this sponsor or account")
    bookings.add_argument("--slot", metavar="ID", help="only bookings of this slot")
    bookings.add_argument("--trouble", action="store_true", help="only bookings whose payment needs attention")
    paged(add("reviews", "List what waits for review, most urgent first.", administering.list_reviews))
    _add_decisions(add)
    revenue = add("revenue", "Show what was paid and refunded, by month.", administering.show_revenue)
    revenue.add_argument("--from", dest="first", metavar="MONTH", help="the first month, such as 2026-01")
    revenue.add_argument("--to", dest="last", metavar="MONTH", help="the last month; default: this one")
    for one in (accounts, bookings, revenue, *_add_lists(add, paged)):
        add_csv(one)
    sites = add("sites", "Show what was counted by website.", administering.list_sites)
    sites.add_argument("--from", dest="first", metavar="DATE", help="first day (UTC); default: 27 days before the last")
    sites.add_argument("--to", dest="last", metavar="DATE", help="last day (UTC), such as 2026-11-18; default: today")


def _add_lists(add: Adder, paged: Paged) -> tuple[argparse.ArgumentParser, ...]:
    campaigns = paged(add("campaigns", "List the campaigns of all sponsors, newest first.", admin_lists.list_campaigns))
    campaigns.add_argument("--status", choices=CAMPAIGN_STATES, help="only campaigns in this state")
    campaigns.add_argument("--order", choices=("newest", "oldest"), help="default: newest")
    sponsors = paged(
        add("sponsors", "List the accounts with a sponsor profile, newest first.", admin_lists.list_sponsors)
    )
    slots = add("slots", "List all slots, retired ones too.", admin_lists.list_slots)
    audit = paged(add("audit", "Show what was changed, and who did it, newest first.", admin_lists.list_audit))
    audit.add_argument(
        "target", nargs="?", metavar="ID", help="only changes of this account, campaign, booking, slot or key"
    )
    audit.add_argument("--by", metavar="EMAIL", help="only changes that this account made")
    audit.add_argument("--to", metavar="DAY", help="only changes up to this day, such as 2026-11-18")
    return campaigns, sponsors, slots, audit


def _add_decisions(add: Adder) -> None:
    approve = add("approve", "Approve a campaign, or its edit if one waits.", deciding.approve_campaign)
    reject = add("reject", "Reject a campaign, or its edit if one waits.", deciding.reject_campaign)
    reject.add_argument("--note", required=True, help="why; the sponsor reads it")
    for one in (approve, reject):
        one.add_argument("campaign", metavar="CAMPAIGN", help="its id")
    refund = add("refund", "Refund a paid booking.", deciding.refund_booking)
    refund.add_argument("--reason", help="stored in the audit")
    decline = add("decline-refund", "Decline the refund that a sponsor asks for.", deciding.decline_refund)
    decline.add_argument("--note", required=True, help="why; the sponsor reads it")
    for one in (refund, decline):
        one.add_argument("booking", metavar="BOOKING", help="its id")
