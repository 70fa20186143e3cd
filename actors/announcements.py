"""What a transaction tells people: the topics of mails that a recipient can turn off."""

from enum import StrEnum


class Topic(StrEnum):
    """The kinds of mails that a recipient can turn off."""

    REVIEWS = "reviews"
    BOOKINGS = "bookings"
    REPORTS = "reports"
