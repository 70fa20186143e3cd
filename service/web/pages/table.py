"""The table of pages. Every page in it is routed, guarded and tested."""

from service.web.pages.account import claim, dashboard, device, security, settings, sign_in
from service.web.pages.admin import accounts, administration, review_queue, slots, websites
from service.web.pages.admin import bookings as all_bookings
from service.web.pages.ops import components, outbox, status
from service.web.pages.parts.page import Page
from service.web.pages.public import advertise, catalog, embed_guide, home, mail_links
from service.web.pages.sponsor import (
    booking,
    bookings,
    calendar,
    campaigns,
    checkout,
    invoices,
    overview,
    reports,
    webhooks,
)

PAGES: tuple[Page, ...] = (
    *(page for public in (home, catalog, advertise, embed_guide, mail_links) for page in public.PAGES),
    *(page for account in (claim, sign_in, security, device, dashboard, settings) for page in account.PAGES),
    *(page for sponsor in (overview, calendar, campaigns, bookings, booking, reports) for page in sponsor.PAGES),
    *(page for sponsor in (webhooks, invoices, checkout) for page in sponsor.PAGES),
    *(
        page
        for admin in (review_queue, slots, all_bookings, administration, accounts, websites)
        for page in admin.PAGES
    ),
    *(page for ops in (status, outbox, components) for page in ops.PAGES),
)
