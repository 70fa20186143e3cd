"""Wire models of the mails that an account gets."""

from pydantic import BaseModel, Field

from service.schemas.fields import Edit, absent

REVIEWS = "Reviews of your ads; for administrators also ads that wait for review"
BOOKINGS = "Held and beginning weeks"
REPORTS = "The figures of weeks that ended"


class Notifications(BaseModel):
    """The topics about which the account gets mails. Mails about security and money are always sent."""

    reviews: bool = Field(description=REVIEWS)
    bookings: bool = Field(description=BOOKINGS)
    reports: bool = Field(description=REPORTS)


class NotificationsEdit(Edit):
    """Topics to turn on or off; absent topics stay."""

    reviews: bool = absent("Mails about reviews")
    bookings: bool = absent("Mails about held and beginning weeks")
    reports: bool = absent("Mails with the figures of weeks that ended")
