"""The table of operations. A row added here is routed, authorized, metered, documented and tested."""

from service.operation import Operation
from service.operations.accounts import ROWS as ACCOUNTS
from service.operations.catalog import ROWS as CATALOG
from service.operations.health import ROWS as HEALTH
from service.operations.keys import ROWS as KEYS
from service.operations.scoped_keys import ROWS as SCOPED_KEYS
from service.operations.usage import ROWS as USAGE

OPERATIONS: tuple[Operation, ...] = (*KEYS, *USAGE, *CATALOG, *SCOPED_KEYS, *ACCOUNTS, *HEALTH)
