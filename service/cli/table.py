"""The commands of the operator, and the modules that hold them. The module of a command is imported when it is chosen."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the table."""

    adder: str
    """`module:function` in this folder: the function adds the command, and perhaps others, to its `Commands`."""
    summary: str


COMMANDS: Mapping[str, Command] = MappingProxyType(
    {
        "serve": Command(
            "serving:add_serving_commands", "Start the service; prints 'listening on URL' when it is ready."
        ),
        "migrate": Command("serving:add_serving_commands", "Bring the database schema up to date."),
        "openapi": Command("documents:add_document_command", "Print the OpenAPI document."),
        "import-catalog": Command(
            "seeding:add_seeding_commands", "Import use cases and bots from a JSON or JSON lines file: all or nothing."
        ),
        "seed-demo": Command(
            "seeding:add_seeding_commands",
            "Replace the demo sponsors, slots and bookings with new ones for this week; real ones stay.",
        ),
        "issue-key": Command(
            "accounts:add_account_commands", "Issue a full or a scoped key for an account; it is printed once."
        ),
        "revoke-key": Command("accounts:add_account_commands", "Revoke a key permanently."),
        "sign-in-link": Command(
            "accounts:add_account_commands", "Print a link that signs in one browser, without a mail; it works once."
        ),
        "set-tier": Command("accounts:add_account_commands", "Set an account's tier."),
        "grant-admin": Command("accounts:add_account_commands", "Make an account an administrator."),
        "revoke-admin": Command(
            "accounts:add_account_commands",
            "Remove administrator rights from an account; takes effect with the next request on every node.",
        ),
        "remove-passkeys": Command(
            "accounts:add_account_commands",
            "Remove all passkeys of an account whose owner has lost them; the emailed code alone signs in then.",
        ),
        "list-accounts": Command("suspending:add_suspension_commands", "List or search accounts, newest first."),
        "suspend-account": Command(
            "suspending:add_suspension_commands",
            "Suspend an account: nothing of it is shown, and its keys and sessions are refused within a second.",
        ),
        "unsuspend-account": Command("suspending:add_suspension_commands", "Restore a suspended account."),
        "export-account": Command(
            "account_data:add_account_data_commands", "Print all that is stored about an account, as JSON lines."
        ),
        "delete-account": Command(
            "account_data:add_account_data_commands",
            "Delete an account after some days in which its owner can undo it.",
        ),
        "distribute": Command(
            "distributing:add_distributing_command",
            "Move the event keys of earlier days to the workers of a distributed database; resumable, beside running nodes.",
        ),
        "set-billing-mode": Command(
            "billing:add_billing_commands", "Change the billing mode of the database while no node runs: test or live."
        ),
        "list-slots": Command("slots:add_slot_commands", "List all slots."),
        "create-slot": Command("slots:add_slot_commands", "Create a slot; prints its id."),
        "edit-slot": Command("slots:add_slot_commands", "Change a slot; options that are not given stay."),
        "retire-slot": Command("slots:add_slot_commands", "Stop selling a slot; bookings stay."),
        "backup": Command(
            "backup:add_backup_commands",
            "Write the embedded database and the server's secret to one file; works while the server runs.",
        ),
        "restore": Command(
            "backup:add_backup_commands", "Restore the embedded database from a backup into an empty --data-dir."
        ),
        "completion": Command(
            "completing:add_completion_command", "Print a script that completes commands and options in a shell."
        ),
        "doctor": Command("doctor:add_doctor_command", "Check for problems that keep the service from running well."),
    }
)
"""In the order of the help."""
