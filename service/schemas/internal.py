"""Bodies and results of the operations that only pages of this service call. They are not part of the public API."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field, create_model

from actors.bookings.reports import Cost, Sale
from service.schemas.bookings import Booking
from service.schemas.campaigns import Campaign
from service.schemas.fields import NEWEST_MS, Query, Strict
from service.schemas.invoices import Invoice
from service.schemas.reports import Delivered, ReportQuery


class LinkUse(BaseModel, strict=True):
    """The token of an operator's sign-in link."""

    token: Annotated[str, Field(max_length=100)]


class RetiredEntry(BaseModel):
    """An entry of the catalog that was removed."""

    kind: str
    slug: str
    retiredAt: int


class RetiredEntries(BaseModel):
    """The entries that were removed last, newest first within each kind."""

    items: list[RetiredEntry]


class SightingQuery(Query):
    """A website, by its host."""

    site: str = Field(max_length=253)


class SiteSighting(BaseModel):
    """The last event that the page of a website has reported; its kind, outcome and time are null if there is none."""

    site: str
    kind: Literal["impression", "click"] | None = None
    outcome: str | None = None
    works: bool = False
    seenAt: int | None = None


class ReadyHour(BaseModel):
    """An hour of a node: the minutes in which it was checked, and those in which it was not ready."""

    startMs: int
    checked: int
    unready: int


class UnreadySpan(BaseModel):
    """Minutes in a row in which no check found the node ready, from the start of the first to the end of the last."""

    fromMs: int
    untilMs: int


class ReadinessDay(BaseModel):
    """The readiness of the node that answers: now, in the last 24 hours, oldest first, and when it was not ready, newest
    first. `sinceMs` is its start."""

    ready: bool
    sinceMs: int
    hours: list[ReadyHour]
    spans: list[UnreadySpan]


class LoadHour(BaseModel):
    """The load of a process in each two minutes of the last hour, oldest first; None where nothing is known."""

    requests: list[int | None]
    failures: list[int | None]
    refusals: list[int | None]
    recorded: list[int | None]
    busy: list[int | None]
    mails: list[int | None]


class CatalogSize(BaseModel):
    """How many entries the catalog has."""

    usecases: int
    bots: int


class CatalogPlace(BaseModel):
    """The place of a page in its list: the entries before it, all entries, and the cursor of the page before it, None if
    that is the first page."""

    before: int
    total: int
    previous: str | None


class OutboxMail(BaseModel):
    """One mail of the outbox, codes included. `subject` and both parts are None if this node cannot render it."""

    id: str
    recipient: str
    template: str
    subject: str | None
    text: str | None
    html: str | None
    createdAt: int
    expiresAt: int
    sentAt: int | None
    failedAt: int | None
    attempts: int
    lastError: str | None


class OutboxMails(BaseModel):
    mails: list[OutboxMail]


class Ending(BaseModel):
    """The target of an ending link in a mail. `ended` says whether this request did, or something before it."""

    kind: Literal["key", "session", "admin"]
    label: str
    email: str
    ended: bool = False


_Group = Annotated[str, Field(pattern="^(booking|campaign|slot)?$")]

FiguresQuery: type[BaseModel] = create_model(
    "FiguresQuery",
    __base__=ReportQuery,
    by=(_Group, ""),
    page=(Annotated[int, Field(ge=1)], 1),
    rows=(Annotated[int, Field(ge=1, le=100)], 10),
    compared=(Annotated[int, Field(ge=0, le=1)], 1),
)
"""The days of a report, and which rows of its tables to list: of one table or of all, and so many on each page from 1. With
`compared` 1, the days before are summed as well."""


class Figure(BaseModel):
    """The sums of a booking, a campaign or a slot in a report. The latter two have the names of their newest booking."""

    bookingId: str
    campaignId: str
    campaign: str
    slot: str
    firstMs: int
    lastMs: int
    impressions: int
    clicks: int


class FigureTable(BaseModel):
    """A page of a table of a report, most times shown first."""

    total: int
    page: int
    items: list[Figure]


class FiguresBefore(BaseModel):
    """The sums of the days from `first` to `last`, which are as many as those of a report and directly before them. `ran`
    says whether a booking ran on one of them."""

    first: str
    last: str
    ran: bool
    impressions: int
    clicks: int


class DeliveryFigures(Delivered):
    """A report of the days from `first` to `last`. `days` has those on which something ran, each with its start, impressions
    and clicks. `before` is None if the days before have too many rows to be compared. `campaigns` and `slots` are the ids and
    names of all that ran, from which a filter chooses."""

    first: str
    last: str
    days: list[tuple[int, int, int]]
    tables: dict[str, FigureTable]
    before: FiguresBefore | None
    costs: list[Cost]
    campaigns: dict[str, str]
    slots: dict[str, str]


class ShareBody(Strict):
    """Whether a shared report shows what was paid."""

    costs: bool = False


class Shared(BaseModel):
    """A link to a report, without its token. Ids that are None leave nothing out."""

    id: str
    first: str
    last: str
    campaignId: str | None
    slotId: str | None
    costs: bool
    createdAt: int


class SharedMade(BaseModel):
    """A new link with its address, which is shown once."""

    shared: Shared
    url: str


class SharedList(BaseModel):
    """The links of an account that work, newest first, and how many may work at a time."""

    items: list[Shared]
    most: int


class SharedFigures(BaseModel):
    """A report as those who have its link see it, with the campaign and the slot that it is about. Without `costs`, its
    figures have none."""

    sponsor: str | None
    costs: bool
    only: tuple[str | None, str | None]
    figures: DeliveryFigures


class StoppedMails(BaseModel):
    """The topic that the link of a mail turns off, and whether it is off."""

    email: str
    topic: str
    stopped: bool


class Purchase(BaseModel):
    """A booking as its checkout page and its receipt show it. Times are epoch milliseconds."""

    bookingId: str
    tenantId: str
    status: str
    sponsor: str | None
    campaign: str
    slotId: str
    slot: str
    package: str | None
    weeks: int
    weekStart: int
    weekEnd: int
    periodStart: int
    amountCents: int
    currency: str
    holdUntil: int
    testMode: bool
    demo: bool
    receiptUrl: str | None
    paidAt: int | None
    refundedCents: int
    paymentId: str | None
    paymentIssue: str | None
    changed: bool = False
    """Whether this call paid for the booking or cancelled it."""


class ShareQuery(Query):
    """The weeks of a booking, or several that one may begin with."""

    weekStart: int = Field(ge=0, le=NEWEST_MS)
    weeks: int = Field(ge=1, le=104)


class WeekShare(BaseModel):
    """The ads on the side of a slot in a week, its own included, and the share of page views on which each stands."""

    weekStart: int
    ads: int
    share: float


class ShareOfVoice(BaseModel):
    """The share of an ad in each week, from what is booked now. `slots` are sold on its side, and `floor` is its share once
    all of them are booked."""

    side: Literal["left", "right"]
    slots: int
    floor: float
    weeks: list[WeekShare]


class Spent(BaseModel):
    """The payments of an account in one currency, and what of them was refunded, in cents. `refunds` are the bookings of
    which something was refunded."""

    currency: str
    paidCents: int = 0
    refundedCents: int = 0
    refunds: int = 0


class SponsorOverview(BaseModel):
    """The bookings of an account that matter now, and sums over the newest ones.

    `present` are held, or paid with weeks that are not over, earliest week first; `past` were paid, latest week first.
    `bookings` counts all that were read; with `more`, there are older ones. `sinceMs` is the first payment among them.
    """

    present: list[Booking]
    past: list[Booking]
    bookings: int
    more: bool
    sinceMs: int | None
    impressions: int
    clicks: int
    spent: list[Spent]


class RowCount(BaseModel):
    """The number of the rows of a list of an account, null if there are too many to count."""

    rows: int | None


class BookingStep(BaseModel):
    """Something that happened to a booking or to its campaign: the action of its audit record, at epoch milliseconds."""

    action: str
    at: int


class BookingSteps(BaseModel):
    """The steps of a booking and its campaign since it was made, oldest first; the newest ones if there are very many."""

    items: list[BookingStep]


class BookingDossier(BaseModel):
    """Everything of a booking that administrators look at: its ad, its payment, its documents, oldest first, and its counts
    by day, each with its start, impressions and clicks. `paidCents` is in `paidCurrency`."""

    booking: Booking
    campaign: Campaign
    accountId: str
    paymentId: str | None
    paidAt: int | None
    paidCents: int | None
    paidCurrency: str
    refundDueAt: int | None
    invoices: list[Invoice]
    days: list[tuple[int, int, int]]


class Sales(BaseModel):
    """The payments of some months by slot and by account, and how much of the next weeks is sold. `weeks` are those of all
    slots for sale, of which `sold` are paid for and `held` held; the others cost `openCents` together."""

    items: list[Sale]
    weeksAhead: int
    weeks: int
    sold: int
    held: int
    openCents: int
