"""The arguments of `catalogctl`: which commands there are, what they take, and which function does them."""

import argparse
from collections.abc import Callable
from functools import partial
from typing import NoReturn, TypeVar

from service.catalogctl import VERSION, buying, catalog, logins, sponsoring
from service.catalogctl.failures import Exit
from service.catalogctl.session import KEY_VARIABLE, URL_VARIABLE, Session

DESCRIPTION = "Read the catalog, and book and watch sponsorships, from the command line."
EPILOG = f"""\
The service is the one of --url, of {URL_VARIABLE}, of the last login, or http://127.0.0.1:8080, in this order.
The key is that of {KEY_VARIABLE}, or the one that `catalogctl login` has saved for this service.

exit codes: 0 done, 1 refused by the service, 2 not a valid command, 3 the service cannot be reached, 130 interrupted
"""
T = TypeVar("T")
Command = Callable[[Session], None]
Subparsers = argparse._SubParsersAction  # the type has no public name


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(Exit.USAGE, f"{self.prog}: {message} (try --help)\n")


def made_parser() -> Parser:
    """The whole parser. What it parses has `command`, the function to call with the session."""
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
    login = add("login", "Log in: a person approves in a browser, and the key is saved.", logins.log_in)
    login.add_argument("--no-browser", action="store_true", help="only show the address and the code")
    logout = add("logout", "Forget the saved key; it lives until it is revoked in the dashboard.", logins.log_out)
    logout.add_argument("--all", action="store_true", help="forget the keys of all services")
    add("whoami", "Show whom the key stands for.", catalog.show_owner)
    add("usage", "Show what of the key's limits is used and left.", catalog.show_usage)
    for name, words, command in (
        ("usecases", "List or search use cases, or show one.", catalog.show_usecases),
        ("bots", "List or search bot templates, or show one.", catalog.show_bots),
    ):
        entries = _paged(add(name, words, command))
        entries.add_argument(
            "query", nargs="?", metavar="QUERY", help="words to search for; the best matches come first"
        )
        entries.add_argument("--slug", help="show this one, whole")
    sponsor = add("sponsor", "Book sponsorships, pay for them and watch them.", None)
    _add_sponsor(partial(_add, sponsor.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser), shared))
    return parser


def _shared() -> Parser:
    """What every command takes, before its name or after it."""
    shared = Parser(add_help=False, argument_default=argparse.SUPPRESS)
    shared.add_argument("--json", action="store_true", help="print the service's JSON as it came")
    shared.add_argument("--url", metavar="URL", help="the service's address")
    shared.add_argument("--key", metavar="KEY", help=f"a key for this call; {KEY_VARIABLE} shows it to fewer eyes")
    return shared


def _add(
    subparsers: "Subparsers[Parser]", shared: Parser, name: str, words: str, command: Command | None, **defaults: str
) -> Parser:
    made = subparsers.add_parser(name, help=words, description=words, parents=[shared])
    made.set_defaults(**{"command": command, **defaults} if command else defaults)
    return made


def _paged(parser: Parser) -> Parser:
    parser.add_argument("--limit", type=_count, metavar="N", help="entries a page")
    parser.add_argument("--cursor", help="the page that a page before has named")
    parser.add_argument("--all", action="store_true", help="all pages")
    return parser


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 6 and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1")
    return int(text)


def _add_sponsor(add: Callable[..., Parser]) -> None:
    add("me", "Show the sponsor, and what the key may do.", sponsoring.show_identity)
    profile = add("profile", "Save the name that visitors see, and the website.", buying.save_profile)
    _required(profile, name="the brand", website="its address")
    week = add("inventory", "Show the slots, and which can be booked for a week.", sponsoring.show_inventory)
    week.add_argument(
        "--week", metavar="MONDAY", help="the week's first day, such as 2026-12-28; the current week without"
    )
    add("placements", "Show what is placed now.", sponsoring.show_placements)
    _add_campaigns(add)
    _add_bookings(add)
    add("keys", "List the scoped keys of the account.", sponsoring.list_keys)
    key = add("create-key", "Make a scoped key; it is shown once.", buying.create_key)
    _required(key, name="what the key is for", scopes="scopes between commas, such as sponsor:read")
    add("revoke-key", "End a scoped key for good.", buying.revoke_key).add_argument(
        "id", metavar="ID", help="the key's id"
    )


def _add_campaigns(add: Callable[..., Parser]) -> None:
    _paged(add("campaigns", "List your campaigns, the newest first.", sponsoring.list_campaigns))
    content = {
        "name": "for you only",
        "headline": "up to 55 characters",
        "body": "up to 140 characters",
        "cta": "the button, up to 24 characters",
        "target_url": "where it leads",
        "logo_text": "up to 3 characters",
    }
    _required(add("create-campaign", "Create a campaign, which waits for review.", buying.create_campaign), **content)
    edit = add("edit-campaign", "Change what is given of a campaign; new content is reviewed.", buying.edit_campaign)
    edit.add_argument("campaign", metavar="CAMPAIGN", help="its id")
    for option, words in content.items():
        edit.add_argument(f"--{option.replace('_', '-')}", help=words)
    for move, words in (
        ("submit", "Have a draft or rejected campaign reviewed."),
        ("withdraw", "Take a campaign back from review."),
        ("pause", "Show a campaign no more until it is resumed."),
        ("resume", "Show a paused campaign again."),
    ):
        add(move, words, buying.move_campaign, move=move).add_argument("campaign", metavar="CAMPAIGN", help="its id")


def _add_bookings(add: Callable[..., Parser]) -> None:
    _paged(add("bookings", "List your bookings, the newest first.", sponsoring.list_bookings))
    booking = add("booking", "Show one booking and its receipt.", sponsoring.show_booking)
    book = add("book", "Reserve a slot's weeks for a campaign; pay before the hold runs out.", buying.book)
    _required(book, campaign="the campaign's id")
    start = add("start", "Save the brand, make its campaign and reserve a slot's weeks, in one.", buying.start)
    _required(
        start, name="the brand", website="its address", headline="up to 55 characters", body="up to 140 characters"
    )
    for reserving in (book, start):
        _required(reserving, slot="the slot's id", week="the first week's Monday, such as 2026-12-28")
        reserving.add_argument("--idempotency-key", metavar="UUID", help="that of the command whose answer was lost")
    checkout = add("checkout", "Show where a reserved booking is paid for.", buying.open_checkout)
    checkout.add_argument("--open", action="store_true", help="open it in the browser")
    cancel = add("cancel", "Give up a booking that is not paid.", buying.cancel_booking)
    for one in (booking, checkout, cancel):
        one.add_argument("booking", metavar="BOOKING", help="its id")
    delivery = _paged(add("delivery", "Show impressions, clicks and their ratio.", sponsoring.show_delivery))
    delivery.add_argument("booking", metavar="BOOKING", nargs="?", help="its id; all bookings without")


def _required(parser: Parser, **options: str) -> None:
    for option, words in options.items():
        parser.add_argument(f"--{option.replace('_', '-')}", required=True, help=words)
