"""The table of pages. Every page in it is routed, guarded and tested."""

from service.web.pages.account import authorize, claim, dashboard, device, security, settings, sign_in, submissions
from service.web.pages.admin import accounts, administration, entries, review_queue, slots, submission_queue
from service.web.pages.admin import bookings as all_bookings
from service.web.pages.ops import clock, components, outbox, status
from service.web.pages.parts.page import Page
from service.web.pages.public import advertise, catalog, changelog, embed_guide, home, mail_links
from service.web.pages.public import status as public_status
from service.web.pages.sponsor import booking, bookings, calendar, campaigns, checkout, overview, reports, webhooks

PUBLIC = (home, catalog, advertise, embed_guide, changelog, public_status, mail_links)
ACCOUNT = (claim, sign_in, security, device, authorize, dashboard, settings, submissions)
SPONSOR = (overview, calendar, campaigns, bookings, booking, reports, webhooks, checkout)
ADMIN = (review_queue, submission_queue, entries, slots, all_bookings, administration, accounts)
OPS = (status, outbox, clock, components)

PAGES: tuple[Page, ...] = tuple(page for module in (*PUBLIC, *ACCOUNT, *SPONSOR, *ADMIN, *OPS) for page in module.PAGES)
