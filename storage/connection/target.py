"""The address of a Postgres server. Pure."""

from dataclasses import dataclass
from typing import Any


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

    def arguments(self) -> dict[str, Any]:
        address = {"host": self.host, "port": self.port}
        if self.url is not None:
            return {"dsn": self.url, **{name: value for name, value in address.items() if value is not None}}
        return {**address, "user": self.user, "database": self.database, "ssl": False}
