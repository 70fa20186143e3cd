"""Clients: those that register, those that are described by a document at an address of their own, and their names. Pure.

A registration is not stored: the client's id is what was registered, signed. A document is fetched by its reader
(`service.api.oauth.documents`).
"""

import json
import re
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from urllib.parse import unquote

from actors.times import DAY_MS
from actors.values import Code, Refused
from service.api.oauth.redirects import place_of, problem_of, without_port
from service.schemas.texts import visible
from service.tokens.signing import BadToken, TokenSigner

PREFIX = "cli_"
PURPOSE = "client"

LONGEST_ID = 2_000
LONGEST_NAME = 64
MAX_REDIRECTS = 10
MAX_REDIRECT_CHARACTERS = 1_000
"""Of all redirect URIs of a registration together."""

LIFE_MS = 30 * DAY_MS
"""The life of a registration that is not used."""

HASH_BYTES = 16

_URL = re.compile(
    r"https://([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::([1-9][0-9]{0,4}))?(/[!$%&'()*+,\-./0-9:;=@A-Z_a-z~]*)"
    r"(\?[!$%&'()*+,\-./0-9:;=?@A-Z_a-z~]*)?"
)


@dataclass(frozen=True, slots=True)
class RegisteredClient:
    """A registration: a name that nobody has checked, the day, and hashes of the redirect URIs."""

    name: str
    issued_ms: int
    redirects: tuple[str, ...]

    def allows(self, redirect_uri: str) -> bool:
        """Whether this redirect URI was registered."""
        return hash_of(redirect_uri) in self.redirects


class RegisteredClients:
    """Makes the ids of clients that register, and reads them."""

    def __init__(self, signer: TokenSigner) -> None:
        self._signer = signer

    def register(self, name: str, redirect_uris: Sequence[str], now_ms: int, number: int) -> str:
        """The id of a new client. `number` tells it from others that register the same."""
        hashes = dict.fromkeys(map(hash_of, redirect_uris))
        return PREFIX + self._signer.sign(PURPOSE, (name, now_ms // DAY_MS, number, *hashes))

    def read(self, client_id: str) -> RegisteredClient | None:
        """The client with this id; None if this service did not make it."""
        if not client_id.startswith(PREFIX):
            return None
        try:
            name, day, _, *hashes = self._signer.verify(PURPOSE, client_id.removeprefix(PREFIX))
        except BadToken:
            return None
        return RegisteredClient(name, day * DAY_MS, tuple(hashes))


@dataclass(frozen=True, slots=True)
class DescribedClient:
    """A client as its metadata document describes it (draft-ietf-oauth-client-id-metadata-document)."""

    name: str
    redirects: tuple[str, ...]

    def allows(self, redirect_uri: str) -> bool:
        """Whether the document has this redirect URI."""
        return without_port(redirect_uri) in self.redirects


def hash_of(redirect_uri: str) -> str:
    """The hash by which a registration knows a redirect URI. It keeps ids short, whatever is registered."""
    hashed = sha256(without_port(redirect_uri).encode()).digest()[:HASH_BYTES]
    return urlsafe_b64encode(hashed).rstrip(b"=").decode()


def is_document_url(client_id: str) -> bool:
    """Whether an id is the address of a metadata document: https with a host name and a path, and with nothing that two
    programs could read differently."""
    parts = _URL.fullmatch(client_id)
    if parts is None or len(client_id) > LONGEST_ID or int(parts[2] or 1) > 65_535:
        return False
    segments = parts[3].split("/")[1:]
    return all(unquote(segment) not in (".", "..") for segment in segments)


def host_of(client_id: str) -> str:
    """The host and port of the address of a metadata document."""
    return client_id.removeprefix("https://").partition("/")[0]


def name_of(given: object, fallback: str) -> str:
    """The name that a client gave itself, if it could be that of a key: one line of at most 64 characters that can be seen.
    Else the fallback."""
    try:
        return visible(given) if isinstance(given, str) and len(given) <= LONGEST_NAME else fallback[:LONGEST_NAME]
    except ValueError:
        return fallback[:LONGEST_NAME]


def refused_redirects(uris: object) -> Refused | None:
    """The refusal of redirect URIs that a client cannot register, or None."""
    if not isinstance(uris, list) or not uris:
        return Refused(Code.INVALID_CLIENT_METADATA, "redirect_uris must be a list with at least one redirect URI.")
    if len(uris) > MAX_REDIRECTS or sum(len(str(uri)) for uri in uris) > MAX_REDIRECT_CHARACTERS:
        most = f"{MAX_REDIRECTS} redirect URIs, with at most {MAX_REDIRECT_CHARACTERS:,} characters together"
        return Refused(Code.INVALID_CLIENT_METADATA, f"redirect_uris must have at most {most}.")
    for place, uri in enumerate(uris):
        problem = problem_of(uri) if isinstance(uri, str) else "must be a string"
        if problem is not None:
            return Refused(Code.INVALID_REDIRECT_URI, f"redirect_uris.{place} {problem}.")
    return None


def registered_name(given: object, redirect_uris: Sequence[str]) -> str:
    """The name of a client that registers; without a usable one, the host of its first redirect URI."""
    return name_of(given, place_of(redirect_uris[0]))


def _is_public(document: Mapping[str, Any]) -> bool:
    """Whether a client can go without a secret. One that prefers a key of its own may list `none` beside it (OpenID Connect
    RP Metadata Choices 1.0, 2)."""
    choices = document.get("token_endpoint_auth_methods_supported")
    method = document.get("token_endpoint_auth_method", "none")
    return "client_secret" not in document and (method == "none" or (isinstance(choices, list) and "none" in choices))


def described_client(url: str, body: bytes) -> DescribedClient | str:
    """The client that the document at `url` describes, or the reason why it describes none."""
    try:
        document: Any = json.loads(body.decode())
    except (ValueError, RecursionError):
        return "it is not JSON"
    if not isinstance(document, Mapping) or document.get("client_id") != url:
        return "its client_id is not its address"
    if not _is_public(document):
        return "neither its token_endpoint_auth_method is none, nor one of its token_endpoint_auth_methods_supported"
    uris = document.get("redirect_uris")
    if not isinstance(uris, list) or not all(isinstance(uri, str) for uri in uris):
        return "it has no list of redirect_uris"
    redirects = tuple(without_port(uri) for uri in uris if problem_of(uri) is None)
    return DescribedClient(name_of(document.get("client_name"), host_of(url)), redirects)
