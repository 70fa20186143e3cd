"""The table of operations. A row of a group listed here is routed, authorized, metered, documented and tested."""

from service.api.operation import Operation
from service.api.operations.account import ROWS as ACCOUNT
from service.api.operations.account_data import ROWS as ACCOUNT_DATA
from service.api.operations.admin_accounts import ROWS as ACCOUNTS
from service.api.operations.admin_catalog import ROWS as ADMIN_CATALOG
from service.api.operations.admin_overview import AUDIT, SITES
from service.api.operations.admin_overview import ROWS as OVERSIGHT
from service.api.operations.admin_sponsorship import ROWS as ADMIN
from service.api.operations.bookings import ROWS as BOOKINGS
from service.api.operations.catalog import ROWS as CATALOG
from service.api.operations.devices import ROWS as DEVICES
from service.api.operations.events import ROWS as EVENTS
from service.api.operations.invoices import ROWS as INVOICES
from service.api.operations.keys import ROWS as KEYS
from service.api.operations.node_status import HEALTH
from service.api.operations.node_status import ROWS as WATCHING
from service.api.operations.oauth import ROWS as OAUTH
from service.api.operations.passkeys import ROWS as PASSKEYS
from service.api.operations.placements import RATE_CARD
from service.api.operations.placements import ROWS as PLACEMENTS
from service.api.operations.processor_webhook import ROWS as WEBHOOKS
from service.api.operations.reports import ROWS as REPORTS
from service.api.operations.scoped_keys import ROWS as SCOPED_KEYS
from service.api.operations.sessions import ROWS as SESSIONS
from service.api.operations.sponsor_webhooks import ROWS as SPONSOR_WEBHOOKS
from service.api.operations.sponsors import ROWS as SPONSORS
from service.api.operations.submissions import REVIEWS
from service.api.operations.submissions import ROWS as SUBMISSIONS

OPERATIONS: tuple[Operation, ...] = (
    *KEYS,
    *DEVICES,
    *OAUTH,
    *SESSIONS,
    *PASSKEYS,
    *ACCOUNT,
    *ACCOUNT_DATA,
    *CATALOG,
    *SUBMISSIONS,
    *PLACEMENTS,
    *EVENTS,
    *SPONSORS,
    *BOOKINGS,
    *REPORTS,
    *RATE_CARD,
    *INVOICES,
    *SCOPED_KEYS,
    *SPONSOR_WEBHOOKS,
    *ADMIN,
    *ADMIN_CATALOG,
    *REVIEWS,
    *AUDIT,
    *SITES,
    *ACCOUNTS,
    *OVERSIGHT,
    *WATCHING,
    *WEBHOOKS,
    *HEALTH,
)
