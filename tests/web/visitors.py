"""A visitor with a browser: opens pages, sends forms as browsers do, and reads the result."""

from dataclasses import dataclass
from html.parser import HTMLParser
from urllib.parse import urlencode

from tests.api.asgi import Response
from tests.api.world import World

FORM = "application/x-www-form-urlencoded"
HERE = "127.0.0.1"
"""Some pages are for this machine only."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """A visitor; `token` is that of the session, if the visitor is signed in, and `email` may name the account."""

    world: World
    token: str | None = None
    email: str = ""

    @property
    def headers(self) -> dict[str, str]:
        told = {"Accept": "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8", "Sec-Fetch-Site": "same-origin"}
        return told if self.token is None else told | {"Cookie": f"__Host-session={self.token}"}

    async def get(self, path: str) -> Response:
        return await self.world.client.get(path, headers=self.headers, address=HERE)

    async def post(self, path: str, body: bytes, **headers: str) -> Response:
        """Send a body as a form; `headers` replace those of a browser on our page."""
        told = {**self.headers, "Content-Type": FORM}
        told |= {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.world.client.post(path, headers=told, body=body, address=HERE)

    async def send(self, path: str, **fields: str) -> Response:
        """Send a form from a page of this service."""
        return await self.post(path, urlencode(fields).encode())

    async def look(self, path: str) -> "Seen":
        """Open a page that has to answer 200."""
        response = await self.get(path)
        assert response.status == 200, response.body
        return Seen.of(response)

    async def led(self, path: str, **fields: str) -> "Seen":
        """Send a form and open the page that it redirects to."""
        response = await self.send(path, **fields)
        assert response.status == 303, Seen.of(response).text
        return await self.look(response.header("location") or "")


class Seen(HTMLParser):
    """A page: its text in one line, its elements, and the fields of its forms."""

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
        """The values of the inputs with a name, in order."""
        return [each.get("value") or "" for tag, each in self.tags if tag == "input" and each.get("name") == name]

    def links(self) -> list[str]:
        return [each.get("href") or "" for tag, each in self.tags if tag == "a"]

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of all elements of a kind."""
        return [each for name, each in self.tags if name == tag]
