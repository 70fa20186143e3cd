"""The table of pages. A row added here is routed, guarded and tested."""

from service.pages.administration import PAGES as ADMINISTRATION
from service.pages.bookings import PAGES as BOOKINGS
from service.pages.calendar import PAGES as CALENDAR
from service.pages.campaigns import PAGES as CAMPAIGNS
from service.pages.catalog import PAGES as CATALOG
from service.pages.checkout import PAGES as CHECKOUT
from service.pages.claim import PAGES as CLAIM
from service.pages.dashboard import PAGES as DASHBOARD
from service.pages.deliveries import PAGES as DELIVERIES
from service.pages.device import PAGES as DEVICE
from service.pages.home import PAGES as HOME
from service.pages.ops import PAGES as OPS
from service.pages.outbox import PAGES as OUTBOX
from service.pages.page import Page
from service.pages.reviewing import PAGES as REVIEWING
from service.pages.sign_in import PAGES as SIGN_IN
from service.pages.slots import PAGES as SLOTS
from service.pages.sponsor import PAGES as SPONSOR

PAGES: tuple[Page, ...] = (
    *HOME,
    *CATALOG,
    *CLAIM,
    *SIGN_IN,
    *DEVICE,
    *DASHBOARD,
    *SPONSOR,
    *CALENDAR,
    *CAMPAIGNS,
    *BOOKINGS,
    *CHECKOUT,
    *REVIEWING,
    *SLOTS,
    *DELIVERIES,
    *ADMINISTRATION,
    *OPS,
    *OUTBOX,
)
