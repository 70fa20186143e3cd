"""A browser without scripts: follows links, sends the forms of pages with their values, and keeps cookies."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from urllib.parse import urlencode

from tests.api.asgi import Response
from tests.api.world import World
from tests.web.visitors import FORM, Form, Seen


@dataclass(slots=True)
class Browser:
    """One person, signed in or not, and the page that is open."""

    world: World
    token: str | None = None
    at: str = "/"
    page: Seen = field(default_factory=lambda: Seen(""))
    html: str = ""
    status: int = 0
    cookies: dict[str, str] = field(default_factory=dict)
    _reload: Callable[[], Awaitable[Response]] | None = None

    @property
    def text(self) -> str:
        return self.page.text

    async def open(self, path: str) -> Seen:
        """Open an address and follow its redirects."""
        for _ in range(3):
            response = await self._request("GET", path)
            if response.status != 303:
                self._show(path, response)
                return self.page
            path = response.header("location") or ""
        raise AssertionError(f"{path} leads round and round")

    def form_with(self, button: str) -> Form:
        """The one form of this page that has a button."""
        [form] = [form for form in self.page.forms if button in form.buttons]
        return form

    async def press(self, button: str, **typed: str) -> Seen:
        """Type into the form that has this button, and press it."""
        return await self.send(self.form_with(button), button, **typed)

    async def send(self, form: Form, button: str, **typed: str) -> Seen:
        """Send a form of this or an earlier page, and follow the redirect."""
        assert typed.keys() <= form.fields.keys(), f"{typed.keys() - form.fields.keys()} cannot be typed there"
        body = urlencode({**form.fields, **typed, "do": button}).encode()
        path = form.action or self.at
        response = await self._request("POST", path, body)
        if response.status == 303:
            return await self.open(response.header("location") or "")
        self._show(path, response)
        return self.page

    async def restore(self) -> Seen:
        """Show the tab again after it was unloaded: the request of its page is sent once more, with its form."""
        assert self._reload is not None
        response = await self._reload()
        if response.status == 303:
            return await self.open(response.header("location") or "")
        self._show(self.at, response)
        return self.page

    async def _request(self, method: str, path: str, body: bytes = b"") -> Response:
        async def sent() -> Response:
            headers = self._headers()
            if method == "POST":
                headers |= {"content-type": FORM, "sec-fetch-site": "same-origin"}
            response = await self.world.client.request(method, path, headers=headers, body=body)
            for cookie in response.all("set-cookie"):
                name, _, value = cookie.partition(";")[0].partition("=")
                self.cookies[name] = value
            return response

        self._reload = sent
        return await sent()

    def _headers(self) -> dict[str, str]:
        session = {} if self.token is None else {"__Host-session": self.token}
        cookies = "; ".join(f"{name}={value}" for name, value in (session | self.cookies).items() if value)
        accepted = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
        return {**accepted, "cookie": cookies} if cookies else accepted

    def _show(self, path: str, response: Response) -> None:
        self.at, self.status, self.html = path, response.status, response.body.decode()
        self.page = Seen(self.html)
