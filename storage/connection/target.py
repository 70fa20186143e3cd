"""The address of a Postgres server. Pure."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl


@dataclass(frozen=True, slots=True)
class Target:
    """The address of Postgres: a URL, or the socket directory, role and database of the embedded one. With a URL, `host` and
    `port` lead to another server of the same cluster."""

    url: str | None = None
    host: str | None = None
    user: str | None = None
    database: str | None = None
    port: int | None = None
    application: str = "catalog"
    """The name by which the server lists the connections."""
    distributed: bool = False
    """Whether it is the coordinator or a worker of a distributed database."""
    reads_only: bool = False
    """Whether its connections refuse to write. They may then lead to a standby."""

    def arguments(self) -> dict[str, Any]:
        address = {"host": self.host, "port": self.port}
        if self.url is not None:
            given = {"dsn": self.url, **{name: value for name, value in address.items() if value is not None}}
            # Of several hosts, one may be a standby. A URL can choose by itself, as with other clients of Postgres.
            return given | ({"target_session_attrs": "primary"} if self._chooses_primary else {})
        return {**address, "user": self.user, "database": self.database, "ssl": False}

    @property
    def _chooses_primary(self) -> bool:
        hosts, options = self.place.partition("/")[0], self._options
        return self.host is None and "," in hosts + options.get("host", "") and "target_session_attrs" not in options

    @property
    def _options(self) -> dict[str, str]:
        """The options behind the question mark of the URL."""
        return dict(parse_qsl((self.url or "").partition("?")[2]))

    @property
    def place(self) -> str:
        """The server's address in messages, without a password."""
        if self.host is not None:
            return f"{self.host}:{self.port}" if self.url is not None else f"its socket in {self.host}"
        # Not parsed as a URL, because a wrong one has a place in messages, too.
        at = (self.url or "").rpartition("@")[2].partition("?")[0]
        at = at.removeprefix("postgresql://").removeprefix("postgres://")
        return f"{self._options.get('host', '')}{at}" if at.startswith("/") else at
