"""`/llms.txt`: the service for language models, in the form of llmstxt.org. Made from the table of operations. Pure.

The form: a title, a summary as a quotation, prose, and sections of links with notes. Readers with little room leave out the
section `Optional`.
"""

from collections.abc import Iterable, Sequence

from actors.times import HOUR_MS, SECOND_MS
from service.api.mcp.endpoint import PATH as MCP_PATH
from service.api.mcp.tools import THIRD_PARTY
from service.api.operation import Operation
from service.api.policy import Access
from service.config.model import Config
from service.terminal.output import duration
from service.web.pages.parts.connecting import connections

MAIN_TAGS = ("Keys", "Catalog", "Account", "Sponsorship", "Device login", "Authorization")
"""The operations that most agents need, in this order. Those of other tags are optional."""
NOT_FOR_AGENTS = ("Sign-in", "Payments", "Operation")
"""Operations of browsers, of the payment processor and of probes, although they are public."""

_NEEDS = {
    Access.PUBLIC: "Needs no key.",
    Access.OPTIONAL: "A key is optional.",
    Access.REQUIRED: "Needs a key.",
}


def llms_text(operations: Sequence[Operation], base_url: str, config: Config) -> str:
    """The document in Markdown."""
    ours = [each for each in operations if each.access in _NEEDS and not each.admin and each.tag not in NOT_FOR_AGENTS]
    main = [each for tag in MAIN_TAGS for each in ours if each.tag == tag]
    rest = [each for each in ours if each.tag not in MAIN_TAGS]
    parts = [
        "# Catalog and Sponsorship Service",
        "> A free catalog of automation use cases, each with its source, and of bot templates, read over HTTP as JSON. "
        "Sponsors book slots beside it by the week.",
        _introduction(operations, base_url, config),
        _section("Start here", _entrances(base_url)),
        _section("Operations", (_entry(each, base_url) for each in main)),
        _section("Pages", _pages(base_url)),
        _section("Optional", (_entry(each, base_url) for each in rest)),
    ]
    return "\n\n".join(parts) + "\n"


def reference_url(operation: Operation, base_url: str) -> str:
    """The address at which the reference describes an operation."""
    return f"{base_url}/docs/{operation.name}"


def _introduction(operations: Sequence[Operation], base_url: str, config: Config) -> str:
    paths = {each.name: each.path for each in operations}
    tier = config.tiers.anonymous
    lifetime = duration(tier.expires_hours * HOUR_MS // SECOND_MS)
    return f"""The catalog can be read without a key. One request makes a key, without signing up. The
response shows `apiKey` and `claimToken` once:

    curl -X POST {base_url}{paths["mintKey"]}

Send it as `Authorization: Bearer <apiKey>`. An anonymous key allows {tier.daily} requests a day, {tier.lifetime} in all and
{tier.usecase_reads} reads of use cases, and expires after {lifetime}. Claiming it by email keeps it without changing it.
`GET {paths["getUsage"]}` shows what is left.

Search, then read one entry:

    curl '{base_url}{paths["listUseCases"]}?q=invoices&limit=3'
    curl {base_url}{paths["getUseCase"].replace("{slug}", "SLUG")}

Clients of the Model Context Protocol connect to {base_url}{MCP_PATH}. One of these lines adds it to a client:

{_ways(base_url)}

- {THIRD_PARTY}
- Times are epoch milliseconds in UTC.
- An error is JSON with `error`, a stable code, and `message`, for people. `fields` names each wrong field, and `hint` is the
  address that helps. A 429 or 503 has `Retry-After` in seconds.
- A search without an entry that has all words returns those with the most of them, and the header `X-Search-Relaxed`.
- A list has the cursor of its next page, and the address of that page as a `Link` header with `rel="next"`."""


def _ways(base_url: str) -> str:
    """The links, commands and settings that connect a client, each on a line."""
    ways = [
        (way.client, " ".join(text.split()))
        for way in connections(base_url)
        for text in (way.command, way.link, way.file)
    ]
    return "\n".join(f"    {client}: {text}" for client, text in ways if text)


def _entrances(base_url: str) -> Iterable[str]:
    yield _link(
        "OpenAPI document", f"{base_url}/openapi.json", "Every operation with its parameters, responses and errors."
    )
    yield _link("Reference", f"{base_url}/docs", "The same for people.")
    note = (
        "Model Context Protocol, streamable HTTP, by POST: tools that search and read the catalog, the prices of slots, and "
        "an account's bookings. Usage and bookings need a key."
    )
    yield _link("MCP endpoint", base_url + MCP_PATH, note)
    metadata = f"{base_url}/.well-known/oauth-authorization-server"
    yield _link(
        "OAuth metadata",
        metadata,
        "For programs that a person lets act for an account, also by a device login (RFC 8628).",
    )


def _pages(base_url: str) -> Iterable[str]:
    yield _link("Use cases", f"{base_url}/usecases", "What people automated, newest first.")
    yield _link("Bot templates", f"{base_url}/bots", "Bots that people run, newest first.")
    yield _link("Claim a key", f"{base_url}/claim", "A person keeps an anonymous key by email.")
    yield _link("Advertise", f"{base_url}/advertise", "Slots, prices and free weeks for sponsors.")
    yield _link("Placements on a website", f"{base_url}/embed", "How a website shows the placements.")
    yield _link("Changes of the API", f"{base_url}/changelog", "What programs notice, by day.")
    yield _link("Status", f"{base_url}/status", "Whether the service works now, and did in the last 24 hours.")
    yield _link("Feed", f"{base_url}/feed.xml", "The newest entries of both lists, as Atom.")
    yield _link("Sitemap", f"{base_url}/sitemap.xml", "All public pages, with each entry of the catalog.")


def _entry(operation: Operation, base_url: str) -> str:
    note = f"`{operation.method} {operation.path}`. {operation.summary}. {_NEEDS[operation.access]}"
    return _link(operation.name, reference_url(operation, base_url), note)


def _link(words: str, url: str, note: str) -> str:
    return f"- [{words}]({url}): {note}"


def _section(title: str, links: Iterable[str]) -> str:
    return f"## {title}\n\n" + "\n".join(links)
