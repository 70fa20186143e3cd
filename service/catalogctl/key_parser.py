"""The command line of the keys of an account."""

from argparse import ArgumentParser
from collections.abc import Callable

from service.catalogctl import keys


def add_key_commands(add: Callable[..., ArgumentParser]) -> None:
    add("list", "List the keys of the account.", keys.list_keys)
    rename = add("rename", "Rename a scoped key.", keys.rename)
    expire = add("expire", "Set when a scoped key ends, or that it never does.", keys.expire)
    rotate = add("rotate", "Replace a scoped key; the new one is shown only once.", keys.rotate)
    revoke = add("revoke", "Revoke a scoped key permanently, the same as sponsor revoke-key.", keys.revoke)
    for one in (rename, expire, rotate, revoke):
        one.add_argument("id", metavar="ID", help="the key's id")
    rename.add_argument("name", metavar="NAME", help="the new name")
    expire.add_argument("when", metavar="WHEN", help=f"a date (00:00 UTC), such as 2026-12-28, or {keys.NEVER}")
    rotate.add_argument(
        "--grace", metavar="TIME", default="1d", help="how long the old key works: 0, 1h, 7d; default: 1d"
    )
    usage = add("usage", "Show the requests of each key by day.", keys.show_usage)
    usage.add_argument("--days", metavar="N", help="the last days, 1 to 90; default: 30")
