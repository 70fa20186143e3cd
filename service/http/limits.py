"""The bounds of the HTTP edge that come from the configuration."""

from dataclasses import dataclass, field

from service.http.addresses import Network

MINIMUM_RATE = 16 * 1024
"""Bytes a second at which a client must take an answer, beyond `stall_seconds`."""

MINIMUM_BODY_RATE = 1024
"""Bytes a second at which a client must send a body, beyond `stall_seconds`."""

LINGER_SECONDS = 2.0
"""How long a connection that is given up is still read from, so that the client gets its last answer and not a reset."""

LINGER_BYTES = 1024 * 1024
"""How much is read and dropped in that time."""


@dataclass(frozen=True, slots=True)
class ServingLimits:
    """Bounds of the HTTP edge; see `[http]` in config.toml."""

    head_seconds: float
    request_seconds: float
    stall_seconds: float
    connections: int
    connections_per_address: int
    graceful_seconds: float
    exempt_networks: tuple[Network, ...] = field(default=())
    backlog: int = 1_024
    lame_duck_seconds: float = 0.0
    """How long a stopping server still takes requests on idle connections, whose clients then reconnect elsewhere. 0 when
    no other process serves the same port."""
