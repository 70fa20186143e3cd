"""What people do at pages, whatever drives the browser, and ways that people go in every engine."""

import re
from abc import ABC, abstractmethod
from html import unescape

from tests.acceptance.processes import Service

_LETTER = re.compile(r"<dt>To</dt>\s*<dd>(.*?)</dd>.*?<pre[^>]*><code>(.*?)</code></pre>", re.DOTALL)
_CODE = re.compile(r"^\s*(\d{6})\s*$", re.MULTILINE)


def code_for(node: Service, email: str) -> str:
    """The code of the newest letter to an email that has one."""
    answer = node.get("/dev/outbox")
    assert answer.status_code == 200, answer.text
    letters = (unescape(text) for recipient, text in _LETTER.findall(answer.text) if unescape(recipient) == email)
    return next(str(code) for text in letters for code in _CODE.findall(text))


class Acting(ABC):
    """One browser at the pages of a node. Each act waits for what it needs. With `begins`, a name only begins so."""

    node: Service

    @abstractmethod
    def opens(self, path: str) -> None: ...

    @abstractmethod
    def reads(self, heading: str) -> None:
        """Wait for the page whose main heading this is."""

    @abstractmethod
    def told(self, words: str) -> None:
        """Wait for a notice that says this."""

    @abstractmethod
    def fills(self, **fields: str) -> None:
        """Type into the fields with these labels."""

    @abstractmethod
    def presses(self, button: str, *, begins: bool = False) -> None: ...

    @abstractmethod
    def follows(self, link: str, *, begins: bool = False) -> None: ...

    @abstractmethod
    def unfolds(self, summary: str) -> None:
        """Open the part of the page that this line stands for."""

    @abstractmethod
    def text(self, selector: str) -> str:
        """The words of the first element that matches."""

    @abstractmethod
    def fits(self) -> None:
        """Fail if the page needs scrolling sideways."""

    def fills_in_the_code(self, email: str) -> None:
        """Type the code that came by mail, once the page asks for it."""
        self.fills(Code="")
        self.fills(Code=code_for(self.node, email))

    def signs_in(self, email: str, onward: str = "/dashboard") -> None:
        """Open a page by signing in first."""
        self.opens(onward)
        self.passes_sign_in(email)
        self.told("You are signed in.")

    def passes_sign_in(self, email: str) -> None:
        """Sign in on the page that asks for it."""
        self.reads("Sign in")
        self.fills(Email=email)
        self.presses("Send the code")
        self.fills_in_the_code(email)
        self.presses("Sign in")


def makes_a_key(developer: Acting, label: str = "Name of the key (optional)") -> str:
    """A full key that was made on the dashboard. The first one of an account has a longer label."""
    developer.fills(**{label: "Night jobs"})
    developer.presses("Create the key")
    developer.reads("Your new key")
    return developer.text("#new-key").strip()


def revokes(developer: Acting, key: str) -> None:
    """Revoke a key on its page. A request with it is refused from then on."""
    developer.follows("Night jobs", begins=True)
    developer.unfolds("Revoke this key")
    developer.presses("Revoke this key permanently")
    developer.told("The key is revoked.")
    assert developer.node.status("/api/v1/usage", key) == 401


def pays(sponsor: Acting, slot: str, email: str, headline: str) -> None:
    """From the front page to the payment of the first free week of a slot."""
    sponsor.opens("/")
    sponsor.follows("Advertise")
    sponsor.reads("Put your ad beside the catalog")
    sponsor.fits()
    sponsor.follows(f"Book {slot} from ", begins=True)
    sponsor.passes_sign_in(email)
    sponsor.reads(f"Book {slot}")
    sponsor.fits()
    sponsor.fills(Brand="Ledgers", Website="https://ledgers.example.com", Headline=headline, Text="Every evening.")
    sponsor.presses("Book and pay")
    sponsor.reads("Checkout")
    sponsor.fits()
    sponsor.presses("Pay $", begins=True)
    sponsor.reads("Paid")
    sponsor.fits()
