"""The table of operations. A row added here is routed, authorized, metered, documented and tested."""

from service.operation import Operation
from service.operations.account import ROWS as ACCOUNT
from service.operations.accounts import ROWS as ACCOUNTS
from service.operations.admin import ROWS as ADMIN
from service.operations.bookings import ROWS as BOOKINGS
from service.operations.catalog import ROWS as CATALOG
from service.operations.delivery import ROWS as DELIVERY
from service.operations.devices import ROWS as DEVICES
from service.operations.events import ROWS as EVENTS
from service.operations.health import ROWS as HEALTH
from service.operations.keys import ROWS as KEYS
from service.operations.placements import ROWS as PLACEMENTS
from service.operations.scoped_keys import ROWS as SCOPED_KEYS
from service.operations.sessions import ROWS as SESSIONS
from service.operations.sponsors import ROWS as SPONSORS
from service.operations.usage import ROWS as USAGE
from service.operations.watching import ROWS as WATCHING
from service.operations.webhooks import ROWS as WEBHOOKS

OPERATIONS: tuple[Operation, ...] = (
    *KEYS,
    *DEVICES,
    *SESSIONS,
    *USAGE,
    *ACCOUNT,
    *CATALOG,
    *PLACEMENTS,
    *EVENTS,
    *SPONSORS,
    *BOOKINGS,
    *DELIVERY,
    *SCOPED_KEYS,
    *ADMIN,
    *ACCOUNTS,
    *WATCHING,
    *WEBHOOKS,
    *HEALTH,
)
