"""A visitor with a browser: opens pages, sends forms as browsers do, and reads the result."""

from dataclasses import dataclass, field
from urllib.parse import urlencode

from tests.api.asgi import Response
from tests.api.world import World
from tests.web.markup import Element, Markup

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


@dataclass(slots=True)
class Form:
    """A form: its target, its values, the `do` values of its buttons, and the options of its selects."""

    action: str
    fields: dict[str, str] = field(default_factory=dict)
    buttons: list[str] = field(default_factory=list)
    options: dict[str, list[str]] = field(default_factory=dict)

    def add(self, control: Element) -> None:
        """Fill in a control as browsers do: they drop a line end that a text begins with, and select the marked option
        or the first one."""
        name, value = control.get("name") or "", control.get("value") or ""
        match control.tag:
            case "input":
                self.fields[name] = value
            case "textarea":
                self.fields[name] = "".join(control.words[control.first : control.last]).removeprefix("\n")
            case "button" if "value" in control:
                self.buttons.append(value)
            case "select":
                self.options[name] = []
            case "option" if "select" in control.above:
                select = list(self.options)[-1]
                self.options[select].append(value)
                if "selected" in control or select not in self.fields:
                    self.fields[select] = value


class Seen(Markup):
    """A page with all of its text in one line, its links, and the fields of its forms."""

    @classmethod
    def of(cls, response: Response) -> "Seen":
        return cls(response.body.decode())

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    @property
    def forms(self) -> list[Form]:
        forms: list[Form] = []
        for each in self.elements:
            if each.tag == "form":
                forms.append(Form(each.get("action") or ""))
            elif forms:
                forms[-1].add(each)
        return forms

    @property
    def links(self) -> list[str]:
        return [each.get("href") or "" for each in self.all("a")]

    def values(self, name: str) -> list[str]:
        """The values of the inputs with a name, in order."""
        return [each.get("value") or "" for each in self.all("input") if each.get("name") == name]
