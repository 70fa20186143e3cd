"""Reads the members of a header that is a list, up to a bound (RFC 9110, section 5.6.1). Pure."""

MAX_MEMBERS = 64
"""Members of a list that are read, empty ones too; the others are ignored. Splitting the 16 KiB of a head into 8,000 members
costs more than most answers."""


def members(value: str, separator: str = ",", most: int = MAX_MEMBERS) -> list[str]:
    """The first members without the blanks around them, which are no other characters."""
    return [member.strip(" \t") for member in value.split(separator, most)[:most]]


def last_members(value: str) -> list[str]:
    """The last members of a list that each proxy appends to, the last one first."""
    parts = value.rsplit(",", MAX_MEMBERS)[-MAX_MEMBERS:]
    return [member.strip(" \t") for member in reversed(parts)]
