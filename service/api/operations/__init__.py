"""The table of operations. A row of a group listed here is routed, authorized, metered, documented and tested."""

from service.api.operation import Operation
from service.api.operations.account import ROWS as ACCOUNT
from service.api.operations.account_data import ROWS as ACCOUNT_DATA
from service.api.operations.admin_accounts import ROWS as ACCOUNTS
from service.api.operations.admin_overview import ROWS as OVERSIGHT
from service.api.operations.admin_sponsorship import ROWS as ADMIN
from service.api.operations.audit import ROWS as AUDIT
from service.api.operations.bookings import ROWS as BOOKINGS
from service.api.operations.catalog import ROWS as CATALOG
from service.api.operations.delivery import ROWS as DELIVERY
from service.api.operations.devices import ROWS as DEVICES
from service.api.operations.events import ROWS as EVENTS
from service.api.operations.health import ROWS as HEALTH
from service.api.operations.invoices import ROWS as INVOICES
from service.api.operations.keys import ROWS as KEYS
from service.api.operations.node_status import ROWS as WATCHING
from service.api.operations.notifications import ROWS as NOTIFICATIONS
from service.api.operations.passkeys import ROWS as PASSKEYS
from service.api.operations.placements import ROWS as PLACEMENTS
from service.api.operations.processor_webhook import ROWS as WEBHOOKS
from service.api.operations.rate_card import ROWS as RATE_CARD
from service.api.operations.refund_requests import ROWS as REFUND_REQUESTS
from service.api.operations.reports import ROWS as REPORTS
from service.api.operations.scoped_keys import ROWS as SCOPED_KEYS
from service.api.operations.sessions import ROWS as SESSIONS
from service.api.operations.sites import ROWS as SITES
from service.api.operations.sponsor_webhooks import ROWS as SPONSOR_WEBHOOKS
from service.api.operations.sponsors import ROWS as SPONSORS
from service.api.operations.usage import ROWS as USAGE

OPERATIONS: tuple[Operation, ...] = (
    *KEYS,
    *DEVICES,
    *SESSIONS,
    *PASSKEYS,
    *USAGE,
    *ACCOUNT,
    *ACCOUNT_DATA,
    *NOTIFICATIONS,
    *CATALOG,
    *PLACEMENTS,
    *EVENTS,
    *SPONSORS,
    *BOOKINGS,
    *REFUND_REQUESTS,
    *DELIVERY,
    *REPORTS,
    *RATE_CARD,
    *INVOICES,
    *SCOPED_KEYS,
    *SPONSOR_WEBHOOKS,
    *ADMIN,
    *AUDIT,
    *SITES,
    *ACCOUNTS,
    *OVERSIGHT,
    *WATCHING,
    *WEBHOOKS,
    *HEALTH,
)
