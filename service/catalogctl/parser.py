"""The command line of `catalogctl`: the commands, their arguments and their functions."""

import argparse
import re
from collections.abc import Callable
from difflib import get_close_matches
from functools import cache, partial
from typing import Any, NoReturn, TypeVar

from service.catalogctl import buying, catalog, invoices, logins, notifications, reporting, sponsoring, webhooks
from service.catalogctl.addresses import URL_VARIABLE
from service.catalogctl.admin_parser import add_admin_commands
from service.catalogctl.failures import MEANINGS, Misused
from service.catalogctl.files import add_csv
from service.catalogctl.key_parser import add_key_commands
from service.catalogctl.session import KEY_VARIABLE, Session
from service.terminal.completion import SHELLS, NoLibrary, completion_script
from service.version import VERSION

DESCRIPTION = "Read the catalog, and book, watch and administer sponsorships, from the command line."
EPILOG = f"""\
The service is taken from --url, {URL_VARIABLE}, the last login, or http://127.0.0.1:8080, in this order.
The key is taken from --key, {KEY_VARIABLE}, or the login that was saved for this service, in this order.

exit codes:
"""
EPILOG += "\n".join(f"  {code:>3}  {words}" for code, words in MEANINGS.items())
T = TypeVar("T")
Command = Callable[[Session], None]
Subparsers = argparse._SubParsersAction  # the type has no public name


class Parser(argparse.ArgumentParser):
    """An argument parser that raises `Misused`, and has no colours (Python 3.14 would add some to the help)."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.color = False

    def error(self, message: str) -> NoReturn:
        if unknown := re.match(r"argument COMMAND: invalid choice: '(.*?)' \(choose from (.*)\)", message):
            meant = get_close_matches(unknown[1], re.findall(r"[\w-]+", unknown[2]), 1)
            message = f"there is no command {unknown[1]!r}" + (f": did you mean {meant[0]!r}?" if meant else "")
        raise Misused(f"{message} (try {self.prog} --help)")


@cache
def made_parser() -> Parser:
    """The whole parser, which is made once. Parsed options have `command`, the function to call with the session."""
    shared = _shared()
    parser = Parser(
        prog="catalogctl",
        description=DESCRIPTION,
        epilog=EPILOG,
        parents=[shared],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"catalogctl {VERSION}")
    add = partial(_add, parser.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser), shared)
    login = add("login", "Log in: approve in a browser, and the key is saved.", logins.log_in)
    login.add_argument("--no-browser", action="store_true", help="show the address and the code only")
    logout = add("logout", "Delete the saved key; it stays valid until it is revoked in the dashboard.", logins.log_out)
    logout.add_argument("--all", action="store_true", help="delete the keys of all services")
    add("mint", "Create an anonymous key, without signing up; it is shown only once.", catalog.mint_key)
    add("whoami", "Show the account of the key.", catalog.show_owner)
    add("usage", "Show how much of the key's limits is used and left.", catalog.show_usage)
    mails = add("notifications", "Show which mails the account gets, or choose them.", notifications.choose)
    for topic, words in notifications.TOPICS.items():
        mails.add_argument(f"--{topic}", choices=notifications.CHOICES, help=f"mails about {words}")
    for name, words, command in (
        ("usecases", "List or search use cases, or show one.", catalog.show_usecases),
        ("bots", "List or search bot templates, or show one.", catalog.show_bots),
    ):
        entries = _paged(add(name, words, command))
        entries.add_argument("words", nargs="*", metavar="WORD", help="words to search for; best matches first")
        entries.add_argument("--category", metavar="NAME", help="only entries of this category")
        entries.add_argument("--slug", help="show this entry in full")
    add("categories", "List the categories and how many entries each has.", catalog.show_categories)
    report = add("report", "Report what your bookings delivered, by campaign and slot.", reporting.show_report)
    report.add_argument(
        "--from", dest="first", metavar="DATE", help="first day (UTC); default: 29 days before the last"
    )
    report.add_argument("--to", dest="last", metavar="DATE", help="last day (UTC), such as 2026-11-18; default: today")
    add_csv(report, "print every booking and day as CSV")
    completion = add("completion", "Print a script that completes commands and options in a shell.", None)
    completion.add_argument("shell", metavar="SHELL", choices=SHELLS, help=" or ".join(SHELLS))
    completion.set_defaults(command=partial(_show_completion, parser))
    sponsor = add("sponsor", "Book sponsorships, pay for them and watch them.", None)
    _add_sponsor(partial(_add, sponsor.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser), shared))
    admin = add("admin", "Look after accounts, bookings and the review queue.", None)
    subparsers = admin.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)
    add_admin_commands(partial(_add, subparsers, shared), _paged)
    own = add("keys", "Rename, extend, rotate and revoke keys, and see what each used.", None)
    add_key_commands(partial(_add, own.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser), shared))
    hooks = add("webhooks", "Have what happens to bookings and campaigns posted to your own systems.", None)
    _add_webhooks(partial(_add, hooks.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser), shared))
    return parser


def _show_completion(parser: Parser, session: Session) -> None:
    try:
        script = completion_script(parser, session.options.shell)
    except NoLibrary as error:
        raise Misused(str(error)) from None
    session.present({"shell": session.options.shell, "script": script}, [script], [script])


def _shared() -> Parser:
    """The options of every command, which may stand before or after its name."""
    shared = Parser(add_help=False, argument_default=argparse.SUPPRESS)
    shared.add_argument("--json", action="store_true", help="print the service's JSON unchanged, also of errors")
    shared.add_argument(
        "-q", "--quiet", action="store_true", help="print ids alone, one a line; of a new secret, the secret"
    )
    shared.add_argument("--url", metavar="URL", help="the service's address")
    shared.add_argument(
        "--key", metavar="KEY", help=f"a key for this call; {KEY_VARIABLE} keeps it out of the process list"
    )
    return shared


def _add(
    subparsers: "Subparsers[Parser]", shared: Parser, name: str, words: str, command: Command | None, **defaults: str
) -> Parser:
    made = subparsers.add_parser(name, help=words, description=words, parents=[shared])
    made.set_defaults(**{"command": command, **defaults} if command else defaults)
    return made


def _paged(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument("--limit", type=_count, metavar="N", help="entries per page")
    parser.add_argument("--cursor", help="the cursor that the previous page has printed")
    parser.add_argument("--all", action="store_true", help="read all pages")
    return parser


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 6 and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to 99999")
    return int(text)


def _add_sponsor(add: Callable[..., Parser]) -> None:
    add("me", "Show the sponsor, and what the key may do.", sponsoring.show_identity)
    profile = add("profile", "Save the name that visitors see, and the website.", buying.save_profile)
    _required(profile, name="the brand", website="its address")
    week = add("inventory", "Show the slots, and which of them can be booked for a week.", sponsoring.show_inventory)
    week.add_argument(
        "--week", metavar="MONDAY", help="first day of the week, such as 2026-12-28; default: the current week"
    )
    add("rates", "Show what slots cost, and their next free weeks.", reporting.show_rates)
    add("placements", "Show the placements that are live now.", sponsoring.show_placements)
    _add_campaigns(add)
    _add_bookings(add)
    add("keys", "List the scoped keys of the account.", sponsoring.list_keys)
    key = add("create-key", "Create a scoped key; it is shown only once.", buying.create_key)
    _required(key, name="what the key is for", scopes="scopes, separated by commas, such as sponsor:read")
    add("revoke-key", "Revoke a scoped key permanently.", buying.revoke_key).add_argument(
        "id", metavar="ID", help="the key's id"
    )


def _add_campaigns(add: Callable[..., Parser]) -> None:
    _paged(add("campaigns", "List your campaigns, newest first.", sponsoring.list_campaigns))
    content = {
        "name": "only shown to you",
        "headline": "up to 55 characters",
        "body": "up to 140 characters",
        "cta": "the button, up to 24 characters",
        "target_url": "the page that it leads to",
        "logo_text": "up to 3 characters",
    }
    _required(add("create-campaign", "Create a campaign, which waits for review.", buying.create_campaign), **content)
    edit = add("edit-campaign", "Change a campaign; new content is reviewed.", buying.edit_campaign)
    edit.add_argument("campaign", metavar="CAMPAIGN", help="its id")
    for option, words in content.items():
        edit.add_argument(f"--{option.replace('_', '-')}", help=words)
    for move, words in (
        ("submit", "Submit a draft or rejected campaign for review."),
        ("withdraw", "Withdraw a campaign from review."),
        ("pause", "Stop showing a campaign until it is resumed."),
        ("resume", "Show a paused campaign again."),
    ):
        add(move, words, buying.move_campaign, move=move).add_argument("campaign", metavar="CAMPAIGN", help="its id")


def _add_bookings(add: Callable[..., Parser]) -> None:
    _paged(add("bookings", "List your bookings, newest first.", sponsoring.list_bookings))
    booking = add("booking", "Show one booking and its receipt.", sponsoring.show_booking)
    book = add("book", "Reserve a slot's weeks for a campaign; pay before the hold runs out.", buying.book)
    _required(book, campaign="the campaign's id")
    start = add(
        "start", "Save the brand, create its campaign and reserve a slot's weeks, in one request.", buying.start
    )
    _required(
        start, name="the brand", website="its address", headline="up to 55 characters", body="up to 140 characters"
    )
    for reserving in (book, start):
        _required(reserving, slot="the slot's id", week="the first week's Monday, such as 2026-12-28")
        reserving.add_argument("--idempotency-key", metavar="UUID", help="the key of a command whose response was lost")
    checkout = add("checkout", "Show the page where a reserved booking is paid.", buying.open_checkout)
    checkout.add_argument("--open", action="store_true", help="open the page in the browser")
    cancel = add("cancel", "Cancel a booking that is not paid.", buying.cancel_booking)
    invoice = add("invoice", "Show the invoice of a booking and its credit notes.", invoices.show_invoices)
    refund = add("request-refund", "Ask for the refund of a paid booking.", buying.request_refund)
    _required(refund, reason="why; an administrator reads it")
    for one in (booking, checkout, cancel, invoice, refund):
        one.add_argument("booking", metavar="BOOKING", help="its id")
    _paged(add("invoices", "List your invoices and credit notes, newest first.", invoices.list_invoices))
    delivery = _paged(add("delivery", "Show impressions, clicks and their ratio.", sponsoring.show_delivery))
    delivery.add_argument("booking", metavar="BOOKING", nargs="?", help="its id; default: all bookings")
    add_csv(delivery, "print the days of one booking as CSV")


def _add_webhooks(add: Callable[..., Parser]) -> None:
    add("list", "List your webhooks.", webhooks.list_webhooks)
    create = add("create", "Create a webhook; its secret is shown only once.", webhooks.create_webhook)
    create.add_argument("webhook_url", metavar="ADDRESS", help="where to post, such as https://tools.example.com/hook")
    _required(create, events="events, separated by commas, such as booking.paid,campaign.approved")
    resend = add("resend", "Send a delivery again.", webhooks.resend_delivery)
    for one in (
        add("show", "Show one webhook.", webhooks.show_webhook),
        _paged(add("deliveries", "List what was sent to a webhook, newest first.", webhooks.list_deliveries)),
        add("test", "Send a test event.", webhooks.test_webhook),
        add("enable", "Turn a webhook on that the service has turned off.", webhooks.enable_webhook),
        add("delete", "Delete a webhook with its deliveries.", webhooks.delete_webhook),
        resend,
    ):
        one.add_argument("webhook", metavar="WEBHOOK", help="its id")
    resend.add_argument("delivery", metavar="DELIVERY", help="its id")


def _required(parser: Parser, **options: str) -> None:
    for option, words in options.items():
        parser.add_argument(f"--{option.replace('_', '-')}", required=True, help=words)
