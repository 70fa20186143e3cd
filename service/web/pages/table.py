"""The table of pages. Every page in it is routed, guarded and tested."""

from service.web.pages.account.claim import PAGES as CLAIM
from service.web.pages.account.dashboard import PAGES as DASHBOARD
from service.web.pages.account.device import PAGES as DEVICE
from service.web.pages.account.security import PAGES as PASSKEYS
from service.web.pages.account.security import PAGES as SECURITY
from service.web.pages.account.settings import PAGES as ACCOUNT_DATA
from service.web.pages.account.settings import PAGES as SETTINGS
from service.web.pages.account.sign_in import PAGES as SIGN_IN
from service.web.pages.admin.accounts import PAGES as ADMIN_ACCOUNTS
from service.web.pages.admin.administration import PAGES as ADMINISTRATION
from service.web.pages.admin.bookings import PAGES as DELIVERIES
from service.web.pages.admin.review_queue import PAGES as REVIEWING
from service.web.pages.admin.slots import PAGES as SLOTS
from service.web.pages.admin.websites import PAGES as SITES
from service.web.pages.ops.components import PAGES as COMPONENTS
from service.web.pages.ops.outbox import PAGES as OUTBOX
from service.web.pages.ops.status import PAGES as OPS
from service.web.pages.parts.page import Page
from service.web.pages.public.advertise import PAGES as ADVERTISE
from service.web.pages.public.catalog import PAGES as CATALOG
from service.web.pages.public.home import PAGES as HOME
from service.web.pages.public.mail_links import PAGES as ENDING
from service.web.pages.public.mail_links import PAGES as UNSUBSCRIBING
from service.web.pages.sponsor.booking import PAGES as BOOKING
from service.web.pages.sponsor.bookings import PAGES as BOOKINGS
from service.web.pages.sponsor.calendar import PAGES as CALENDAR
from service.web.pages.sponsor.campaigns import PAGES as CAMPAIGNS
from service.web.pages.sponsor.checkout import PAGES as CHECKOUT
from service.web.pages.sponsor.invoices import PAGES as INVOICES
from service.web.pages.sponsor.overview import PAGES as SPONSOR
from service.web.pages.sponsor.reports import PAGES as REPORTS
from service.web.pages.sponsor.webhooks import PAGES as WEBHOOKS

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
