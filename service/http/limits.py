"""Limits of HTTP connections."""

from dataclasses import dataclass, field

from service.http.addresses import Network

MINIMUM_RATE = 16 * 1024
"""Minimum bytes per second at which a client must read a response, after the first `stall_seconds`."""

MINIMUM_BODY_RATE = 1024
"""Minimum bytes per second at which a client must send a body, after the first `stall_seconds`."""

LAST_CALL_SECONDS = 0.5
"""Time for the first request on a connection that was accepted just before the server stopped."""

HANDSHAKE_SECONDS = 0.005
"""Time for connections to be made that a proxy had begun to make when the server stopped: some round trips. Who begins one in
that time loses a second until the next attempt."""

LAST_MOMENT_SECONDS = 0.5
"""Time for connections to end after they were cut off."""

LINGER_SECONDS = 2.0
"""Time to keep reading from a connection before closing it, so that the client gets the response and not a reset."""

LINGER_BYTES = 16 * 1024 * 1024
"""Maximum bytes read and dropped in that time. A proxy that is busy sends megabytes before it looks for a response."""


@dataclass(frozen=True, slots=True)
class ServingLimits:
    """Configurable limits; see `[http]` in config.toml."""

    head_seconds: float
    request_seconds: float
    stall_seconds: float
    connections: int
    connections_per_address: int
    graceful_seconds: float
    exempt_networks: tuple[Network, ...] = field(default=())
    backlog: int = 1_024
    drain_seconds: float = 0.0
    """Seconds to keep serving after SIGTERM while load balancers see `/readyz` fail."""
    lame_duck_seconds: float = 0.0
    """Time for a stopping server to take requests on idle connections before closing them; 0 if no other process serves
    the same port."""
