"""A browser without scripts: follows links and sends the forms of pages with their values."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urlencode

from tests.api.asgi import Response
from tests.api.world import World

FORM = "application/x-www-form-urlencoded"


@dataclass(slots=True)
class Form:
    """A form: its target, its values, the `do` values of its buttons, and the options of its selects."""

    action: str
    fields: dict[str, str] = field(default_factory=dict)
    buttons: list[str] = field(default_factory=list)
    options: dict[str, list[str]] = field(default_factory=dict)


class Read(HTMLParser):
    """The forms, links and visible text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self.links: list[str] = []
        self.tags: list[str] = []
        self.words: list[str] = []
        self._select = ""
        self._area: str | None = None
        self.feed(html)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        named = {name: value or "" for name, value in attrs}
        if tag == "a":
            self.links.append(named.get("href", ""))
        elif tag == "form":
            self.forms.append(Form(named.get("action", "")))
        elif tag == "textarea" and self.forms:
            self._area = named["name"]
            self.forms[-1].fields[self._area] = ""
        elif tag == "input" and self.forms:
            self.forms[-1].fields[named["name"]] = named.get("value", "")
        elif tag == "button" and self.forms and "value" in named:
            self.forms[-1].buttons.append(named["value"])
        elif tag == "select":
            self._select = named["name"]
            self.forms[-1].options[self._select] = []
        elif tag == "option":
            self._chosen(named["value"], "selected" in named)

    def _chosen(self, value: str, selected: bool) -> None:
        """Select as browsers do: the marked option, or the first one."""
        form = self.forms[-1]
        form.options[self._select].append(value)
        if selected:
            form.fields[self._select] = value
        else:
            form.fields.setdefault(self._select, value)

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea" and self._area is not None:
            # Browsers drop a line end that follows the start of the element.
            fields = self.forms[-1].fields
            fields[self._area] = fields[self._area].removeprefix("\n")
            self._area = None

    def handle_data(self, data: str) -> None:
        if self._area is not None:
            self.forms[-1].fields[self._area] += data
        self.words.append(data)


@dataclass(slots=True)
class Browser:
    """One person, signed in or not, and the page that is open."""

    world: World
    token: str | None = None
    at: str = "/"
    page: Read = field(default_factory=lambda: Read(""))
    html: str = ""
    status: int = 0

    @property
    def text(self) -> str:
        return self.page.text

    async def open(self, path: str) -> Read:
        """Open an address and follow its redirects."""
        for _ in range(3):
            response = await self.world.client.get(path, headers=self._headers())
            if response.status != 303:
                self._show(path, response)
                return self.page
            path = response.header("location") or ""
        raise AssertionError(f"{path} leads round and round")

    def form_with(self, button: str) -> Form:
        """The one form of this page that has a button."""
        [form] = [form for form in self.page.forms if button in form.buttons]
        return form

    async def press(self, button: str, **typed: str) -> Read:
        """Type into the form that has this button, and press it."""
        return await self.send(self.form_with(button), button, **typed)

    async def send(self, form: Form, button: str, **typed: str) -> Read:
        """Send a form of this or an earlier page, and follow the redirect."""
        assert typed.keys() <= form.fields.keys(), f"{typed.keys() - form.fields.keys()} cannot be typed there"
        body = urlencode({**form.fields, **typed, "do": button}).encode()
        path = form.action or self.at
        headers = {**self._headers(), "content-type": FORM, "sec-fetch-site": "same-origin"}
        response = await self.world.client.post(path, headers=headers, body=body)
        if response.status == 303:
            return await self.open(response.header("location") or "")
        self._show(path, response)
        return self.page

    def _headers(self) -> dict[str, str]:
        accepted = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
        return accepted if self.token is None else {**accepted, "cookie": f"__Host-session={self.token}"}

    def _show(self, path: str, response: Response) -> None:
        self.at, self.status, self.html = path, response.status, response.body.decode()
        self.page = Read(self.html)
