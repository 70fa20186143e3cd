"""Builds the OpenAPI 3.1 document from the table of operations, the wire models and recorded examples."""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import trio

from service.api.openapi.components import HEADERS, SECURITY_SCHEMES, tags
from service.api.openapi.enums import named_values, with_names
from service.api.openapi.examples import examples
from service.api.openapi.models import schemas
from service.api.openapi.operations import described
from service.api.openapi.responses import shared_examples
from service.api.operation import Operation
from service.config.sections import SiteSection
from service.version import VERSION

API_VERSION = "1.0.0"
"""The version of the API, which changes with its operations and models. The program's version is `VERSION`."""

DESCRIPTION = """\
A catalog of use cases and bot templates, API keys with exact quotas, and sponsorship by the week.

`POST /api/v1/auth/agent` returns a key that works at once. Send it as `Authorization: Bearer KEY`; reads of the catalog
also work without a key, at a lower rate. Times are epoch milliseconds unless a field says otherwise, and amounts of money
are whole cents. Every refusal is a JSON object with a stable code in `error` and an explanation for a person in `message`;
each response lists its codes in `x-error-codes`, with an example of each.

Names refuse characters that cannot be seen. Texts of campaigns take those that an emoji or a word is composed with, such as
the joiners of Persian and Hindi, where they show. Both refuse characters that Unicode leaves unassigned or to private use.
Patterns say this for characters up to U+FFFF, but for unassigned ones, and for what must stand beside a joiner or selector.

Examples are responses of a demo. The keys, ids and addresses in them lead nowhere.
"""


Elsewhere = Callable[[Callable[[], object]], Awaitable[object]]
"""Calls a function that takes long, such as in a thread, and waits for its end."""


async def _here(work: Callable[[], object]) -> None:
    work()


@dataclass(slots=True, eq=False)
class Described:
    """The OpenAPI document and its text. Building them takes 0.3 s, so the first reader has them built, `elsewhere` if others
    must not wait. Readers await `built` first."""

    _build: Callable[[], dict[str, Any]]
    elsewhere: Elsewhere = _here
    _building: trio.Lock = field(default_factory=trio.Lock)
    _document: dict[str, Any] = field(default_factory=dict)
    _text: bytes = b""

    @classmethod
    def of(
        cls,
        operations: Sequence[Operation],
        base_url: str,
        site: SiteSection | None = None,
        elsewhere: Elsewhere = _here,
    ) -> "Described":
        return cls(partial(document, operations, base_url, site), elsewhere)

    async def built(self) -> None:
        """Have both built, once."""
        async with self._building:
            if not self._text:
                await self.elsewhere(self.build)

    def build(self) -> None:
        """Build both here."""
        self._document = self._build()
        self._text = json.dumps(self._document, indent=1, ensure_ascii=False).encode()

    @property
    def document(self) -> dict[str, Any]:
        assert self._text, "the document is read before it is built"
        return self._document

    @property
    def text(self) -> bytes:
        assert self._text, "the text is read before it is built"
        return self._text


def document(operations: Sequence[Operation], base_url: str, site: SiteSection | None = None) -> dict[str, Any]:
    """The whole document. Every operation lists every status that it can return. `site` says who runs the service."""
    recorded = examples()
    paths: dict[str, Any] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = described(operation, recorded)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Catalog and Sponsorship Service",
            "summary": "A catalog for people and agents, and sponsorship slots next to it.",
            "version": API_VERSION,
            "x-build": VERSION,
            "description": DESCRIPTION,
            "license": {"name": "MIT License", "identifier": "MIT"},
            "contact": {"name": "The operator of this service", "url": f"{base_url}/"},
            **(_about(site) if site else {}),
        },
        "servers": [{"url": base_url}],
        "externalDocs": {"description": "The readable reference of this API", "url": f"{base_url}/docs"},
        "tags": tags(operations),
        "paths": with_names(paths),
        "components": {
            "schemas": named_values() | with_names(schemas(operations)),
            "examples": shared_examples(recorded, operations),
            "headers": dict(HEADERS),
            "securitySchemes": dict(SECURITY_SCHEMES),
        },
    }


def _about(site: SiteSection) -> dict[str, Any]:
    """The terms and the contact of the service, as far as they are configured."""
    about: dict[str, Any] = {"termsOfService": site.terms_url} if site.terms_url else {}
    if site.contact:
        email = site.contact.removeprefix("mailto:")
        address = {"url": site.contact} if email == site.contact else {"email": email}
        about["contact"] = {"name": site.name or "The operator of this service", **address}
    return about
