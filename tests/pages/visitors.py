"""Somebody with a browser: asks for pages, sends forms as browsers do, and reads what a page says."""

from dataclasses import dataclass
from html.parser import HTMLParser
from urllib.parse import urlencode

from tests.http.asgi import Response
from tests.http.world import World

FORM = "application/x-www-form-urlencoded"


@dataclass(slots=True)
class Visitor:
    """A browser, signed in where it has a token."""

    world: World
    token: str | None = None

    async def get(self, path: str) -> Response:
        return await self.world.client.get(path, headers=self._headers())

    async def send(self, path: str, **fields: str) -> Response:
        """A form of this service's own page."""
        headers = self._headers() | {"Content-Type": FORM, "Sec-Fetch-Site": "same-origin"}
        return await self.world.client.post(path, headers=headers, body=urlencode(fields).encode())

    async def look(self, path: str) -> "Seen":
        """A page that is shown."""
        response = await self.get(path)
        assert response.status == 200, response.body
        return Seen.of(response)

    async def led(self, path: str, **fields: str) -> "Seen":
        """The page that a form leads to."""
        response = await self.send(path, **fields)
        assert response.status == 303, Seen.of(response).text
        return await self.look(response.header("location") or "")

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": "text/html"}
        if self.token is not None:
            headers["Cookie"] = f"__Host-session={self.token}"
        return headers


class Seen(HTMLParser):
    """What a page says: its text in one line, its elements, and the fields of its forms by what they do."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self._words: list[str] = []

    @classmethod
    def of(cls, response: Response) -> "Seen":
        seen = cls()
        seen.feed(response.body.decode())
        return seen

    @property
    def text(self) -> str:
        return " ".join(" ".join(self._words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self._words.append(data)

    def values(self, name: str) -> list[str]:
        """The values of inputs of a name, in order."""
        return [each.get("value") or "" for tag, each in self.tags if tag == "input" and each.get("name") == name]

    def links(self) -> list[str]:
        return [each.get("href") or "" for tag, each in self.tags if tag == "a"]

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of all elements of a kind."""
        return [each for name, each in self.tags if name == tag]
