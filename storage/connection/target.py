"""The address of a Postgres server. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote

_HOST = re.compile(r"(?:\[([^\]]+)\]|([^:\[\]]+))(?::([0-9]+))?")


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

    def attempts(self) -> Sequence[dict[str, Any]]:
        """The arguments of each attempt to connect, in order: one for each host, so that a host that does not answer takes no
        time from the others. `prefer-standby` asks each host for a standby, then for any server."""
        arguments, hosts = self.arguments(), self._hosts
        if len(hosts) < 2:
            return [arguments]
        wanted = arguments.pop("target_session_attrs", self._options.get("target_session_attrs"))
        kinds = ("standby", "any") if wanted == "prefer-standby" else (wanted,)
        return [arguments | host | {"target_session_attrs": kind} for kind in kinds for host in hosts]

    @property
    def _hosts(self) -> Sequence[dict[str, Any]]:
        """The hosts of the URL, each with its port if it has one. Empty if the driver has to read them."""
        found = [_HOST.fullmatch(host) for host in self.place.partition("/")[0].split(",")]
        if self.url is None or self.host is not None or None in found:
            return []
        names = [{"host": unquote(each[1] or each[2])} for each in found if each]
        own = [each[3] for each in found if each]
        ports = self._options["port"].split(",") if "port" in self._options else own
        if len(ports) != len(names) or (ports != own and any(own)):
            return []
        return [name | ({"port": int(port)} if port else {}) for name, port in zip(names, ports, strict=True)]

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
