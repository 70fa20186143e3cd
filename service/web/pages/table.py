"""The table of pages. Every page in it is routed, guarded and tested."""

from service.web.pages.account_data import PAGES as ACCOUNT_DATA
from service.web.pages.admin_accounts import PAGES as ADMIN_ACCOUNTS
from service.web.pages.administration import PAGES as ADMINISTRATION
from service.web.pages.advertise import PAGES as ADVERTISE
from service.web.pages.booking import PAGES as BOOKING
from service.web.pages.bookings import PAGES as BOOKINGS
from service.web.pages.calendar import PAGES as CALENDAR
from service.web.pages.campaigns import PAGES as CAMPAIGNS
from service.web.pages.catalog import PAGES as CATALOG
from service.web.pages.checkout import PAGES as CHECKOUT
from service.web.pages.claim import PAGES as CLAIM
from service.web.pages.components import PAGES as COMPONENTS
from service.web.pages.dashboard import PAGES as DASHBOARD
from service.web.pages.deliveries import PAGES as DELIVERIES
from service.web.pages.device import PAGES as DEVICE
from service.web.pages.ending import PAGES as ENDING
from service.web.pages.home import PAGES as HOME
from service.web.pages.invoices import PAGES as INVOICES
from service.web.pages.ops import PAGES as OPS
from service.web.pages.outbox import PAGES as OUTBOX
from service.web.pages.page import Page
from service.web.pages.passkeys import PAGES as PASSKEYS
from service.web.pages.reports import PAGES as REPORTS
from service.web.pages.reviewing import PAGES as REVIEWING
from service.web.pages.security import PAGES as SECURITY
from service.web.pages.settings import PAGES as SETTINGS
from service.web.pages.sign_in import PAGES as SIGN_IN
from service.web.pages.sites import PAGES as SITES
from service.web.pages.slots import PAGES as SLOTS
from service.web.pages.sponsor import PAGES as SPONSOR
from service.web.pages.unsubscribing import PAGES as UNSUBSCRIBING
from service.web.pages.webhooks import PAGES as WEBHOOKS

PAGES: tuple[Page, ...] = (
    *HOME,
    *CATALOG,
    *ADVERTISE,
    *CLAIM,
    *SIGN_IN,
    *PASSKEYS,
    *DEVICE,
    *DASHBOARD,
    *SECURITY,
    *SETTINGS,
    *ACCOUNT_DATA,
    *SPONSOR,
    *CALENDAR,
    *CAMPAIGNS,
    *BOOKINGS,
    *BOOKING,
    *REPORTS,
    *WEBHOOKS,
    *INVOICES,
    *CHECKOUT,
    *ENDING,
    *UNSUBSCRIBING,
    *REVIEWING,
    *SLOTS,
    *DELIVERIES,
    *ADMINISTRATION,
    *ADMIN_ACCOUNTS,
    *SITES,
    *OPS,
    *OUTBOX,
    *COMPONENTS,
)
