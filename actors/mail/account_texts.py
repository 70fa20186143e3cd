"""The texts of mails about the suspension of an account."""

SUSPENDED = """\
Hello,

Your account was suspended at
{site}
The reason that was given:

{reason}

Your ads are not shown, your keys do not work, and you cannot book. You can
still sign in to read this, to download your data and to delete the account.
"""
RESTORED = """\
Hello,

Your account is no longer suspended, at
{site}
Your keys work again, and your ads are shown in the weeks that are paid for.
"""
