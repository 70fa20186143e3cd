"""Email addresses and the mailboxes behind them. Pure."""


def mailbox_of(email: str) -> str:
    """The address without its tag: `ann+news@example.com` reaches the mailbox `ann@example.com`.

    Limits count mailboxes, because anyone can make up tags. Accounts keep the whole address: a few mail servers have no
    tags, and there two such addresses can belong to two people. Other spellings that a provider ignores, such as dots, are
    left as they are. `email` is in the normal form that requests are validated to, in lower case.
    """
    name, at, domain = email.rpartition("@")
    untagged = name.partition("+")[0]
    return f"{untagged}{at}{domain}" if untagged else email
