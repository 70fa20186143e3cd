"""The commands of the operator, and the functions that do them. The module of a command is imported when it is chosen."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the table."""

    work: str
    """`module:function` in this folder: the function that does it, whose parameters declare the arguments."""
    summary: str
    logs_all: bool = False
    """Whether it logs at `log.level` without `--verbose`."""


# fmt: off
COMMANDS: Mapping[str, Command] = MappingProxyType(
    {
        "serve": Command("serving:serve",
            "Start the service; prints 'listening on URL' when it is ready.", logs_all=True),
        "migrate": Command("serving:migrate", "Bring the database schema up to date."),
        "openapi": Command("documents:print_openapi", "Print the OpenAPI document."),
        "import-catalog": Command("seeding:import_catalog",
            "Import use cases and bots from a JSON or JSON lines file: all or nothing."),
        "seed-demo": Command("seeding:seed_demo",
            "Replace the demo sponsors, slots and bookings with new ones for this week; real ones stay."),
        "issue-key": Command("accounts:issue_key", "Issue a full or a scoped key for an account; it is printed once."),
        "revoke-key": Command("accounts:revoke_key", "Revoke a key permanently."),
        "sign-in-link": Command("accounts:sign_in_link",
            "Print a link that signs in one browser, without a mail; it works once."),
        "set-tier": Command("accounts:set_tier", "Set an account's tier."),
        "grant-admin": Command("accounts:grant_admin", "Make an account an administrator."),
        "revoke-admin": Command("accounts:revoke_admin",
            "Remove administrator rights from an account; takes effect with the next request on every node."),
        "remove-passkeys": Command("accounts:remove_passkeys",
            "Remove all passkeys of an account whose owner has lost them; the emailed code alone signs in then."),
        "list-accounts": Command("accounts:list_accounts", "List or search accounts, newest first."),
        "suspend-account": Command("accounts:suspend_account",
            "Suspend an account: nothing of it is shown, and its keys and sessions are refused within a second."),
        "unsuspend-account": Command("accounts:restore_account", "Restore a suspended account."),
        "export-account": Command("accounts:export_account",
            "Print all that is stored about an account, as JSON lines."),
        "delete-account": Command("accounts:delete_account",
            "Delete an account after some days in which its owner can undo it."),
        "distribute": Command("distributing:distribute",
            "Move the event keys of earlier days to the workers of a distributed database; resumable, beside running nodes."),
        "set-billing-mode": Command("serving:set_billing_mode",
            "Change the billing mode of the database while no node runs: test or live."),
        "list-slots": Command("slots:list_slots", "List all slots."),
        "create-slot": Command("slots:create_slot", "Create a slot; prints its id."),
        "edit-slot": Command("slots:edit_slot", "Change a slot; options that are not given stay."),
        "retire-slot": Command("slots:retire_slot", "Stop selling a slot; bookings stay."),
        "backup": Command("backup:back_up_to",
            "Write the embedded database and the server's secret to one file; works while the server runs."),
        "restore": Command("backup:restore_from",
            "Restore the embedded database from a backup into an empty --data-dir."),
        "completion": Command("main:print_completion",
            "Print a script that completes commands and options in a shell."),
        "doctor": Command("doctor:doctor", "Check for problems that keep the service from running well."),
    }
)
# fmt: on
"""In the order of the help."""
