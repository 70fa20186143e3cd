"""The table of operations. A row added here is routed, authorized, metered, documented and tested."""

from service.operation import Operation
from service.operations.catalog import ROWS as CATALOG
from service.operations.health import ROWS as HEALTH
from service.operations.keys import ROWS as KEYS
from service.operations.usage import ROWS as USAGE
from service.operations.webhooks import ROWS as WEBHOOKS

OPERATIONS: tuple[Operation, ...] = (*KEYS, *USAGE, *CATALOG, *WEBHOOKS, *HEALTH)
