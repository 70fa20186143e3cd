"""The facts of a request and its response, from plain HTTP alone. Pure."""

import hashlib
import json
import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from ipaddress import ip_address
from typing import Any, NamedTuple, cast
from urllib.parse import parse_qs, unquote
from uuid import UUID

import brotli

from service.api.operations import OPERATIONS
from tests.judge.catalog import LISTS as ENTRIES
from tests.judge.catalog import REMOVED
from tests.judge.lines import plain, reader_of
from tests.judge.records import (
    Answer,
    Asked,
    Booking,
    Campaign,
    Day,
    Event,
    Invoice,
    Key,
    Limit,
    Login,
    Money,
    Operation,
    Record,
    Usage,
)

PAGE, MCP, CLOCK = "page", "mcp", "clock"
"""Kinds that are no operations of the OpenAPI document: a form of a page that may change anything, a message of an agent, and
a move of a developer's clock."""

LISTS = ("listAudit", "listWebhookEvents", "listChanges")

UNREAD, UNDOCUMENTED = "unread", "undocumented"
"""The codes of a success whose body is no JSON that was read (of a HEAD, a spreadsheet, too long), and of one whose body is
not as the document says. Neither has facts."""

Headers = Mapping[str, str] | Iterable[tuple[str, str]]


class Exchange(NamedTuple):
    """The kind of a request, its facts, and those of its answer, if there was one."""

    kind: str
    asked: Asked
    answer: Answer | None

    def by(self, client: str, node: str, began: float, ended: float) -> Operation:
        return Operation(client, node, self.kind, began, ended, self.asked, self.answer)


def operation_of(
    method: str,
    path: str,
    query: str,
    headers: Headers,
    body: bytes,
    status: int | None,
    response_headers: Headers = (),
    response_body: bytes = b"",
    *,
    address: str = "",
) -> Exchange | None:
    """The facts of an exchange, or None if it concerns no promise: pages that are read, static files, health checks.

    `path` and `query` are as on the request line. `status` is None if there was no answer. `address` is the one from which
    the service sees the request come, which tells visitors of a day apart; without it, they are not.
    """
    found = _route(method, unquote(path))
    if found is None:
        return None
    kind, metered, ids = found
    sent, values = _joined(headers), {name: found[-1] for name, found in parse_qs(query).items()}
    document = _json(sent, body)
    caller = _caller(sent)
    keyed = metered and caller is not None and caller.startswith("key-")
    facts = _asked(kind, values, sent, document if isinstance(document, dict) else {}, address)
    asked = Asked(caller=caller, metered=keyed, id=facts.pop("id", None) or ids, **facts)
    if status is None:
        return Exchange(kind, asked, None)
    got = _lower(response_headers)
    return Exchange(kind, asked, _answer(kind, asked, status, got, _json(got, response_body)))


@cache
def _routes() -> Mapping[str, list[tuple[re.Pattern[str], str, bool]]]:
    """By method: path, name, and whether it uses quota, of each operation of the OpenAPI document. Those without a value in
    their path come first."""
    routes: defaultdict[str, list[tuple[re.Pattern[str], str, bool]]] = defaultdict(list)
    for each in sorted(OPERATIONS, key=lambda row: "{" in row.path):
        pattern = re.compile(re.sub(r"\\{\w+\\}", "([^/]+)", re.escape(each.path)))
        routes[each.method].append((pattern, each.name, each.metered))
    return routes


@lru_cache(maxsize=10_000)
def _route(method: str, path: str) -> tuple[str, bool, str | None] | None:
    """The kind of a request, whether it uses quota, and the first value in its path."""
    method = "GET" if method == "HEAD" else method
    for pattern, name, metered in _routes().get(method, ()):
        if match := pattern.fullmatch(path):
            return None if name in ("isAlive", "isReady") else (name, metered, match[1] if pattern.groups else None)
    if path.rstrip("/") == "/mcp" and method == "POST":
        return MCP, True, None
    if path == "/dev/clock" and method == "POST":
        return CLOCK, False, None
    quiet = method in ("GET", "OPTIONS") or path.startswith(("/checkout/", "/dev/", "/oauth/", "/api/"))
    return None if quiet else (PAGE, False, None)


# The request.


def _asked(kind: str, query: dict[str, str], headers: dict[str, str], body: dict[str, Any], address: str) -> Any:
    facts: dict[str, Any] = {}
    if kind in ("recordEvent", "recordEvents"):
        events = body.get("events", []) if kind == "recordEvents" else [body]
        agent = headers.get("user-agent", "")
        facts["events"] = _events(events, address, agent, by_day=query.get("unit") == "day")
    elif kind in ("createBooking", "startBooking"):
        facts |= _only(key=_uuid(_text(body.get("idempotencyKey"))), campaign=_text(body.get("campaignId")))
        facts |= _only(slot=_text(body.get("slotId")), week=_number(body.get("weekStart")))
    elif kind in SECRETS:
        facts |= _only(id=_secret(kind, query, body), decision=_text(body.get("decision", body.get("grant_type"))))
        proof = _text(body.get("code" if kind == "completeSignIn" else "client_id"))
        facts |= _only(body=None if proof is None else digest(proof))
    elif kind in LISTS or kind == "listInvoices":
        others = {name: value for name, value in query.items() if name not in ("cursor", "limit") and value}
        cursor = query.get("cursor", "").strip()
        facts |= _only(cursor=None if cursor in ("", "null") else cursor, query=digest(others) if others else None)
    elif kind in ("reviewCampaign", "reviewSubmission"):
        facts |= _only(decision=_text(body.get("decision")))
    elif kind == "stripeWebhook":
        facts |= _only(id=_stripe(body), decision=_text(body.get("type")), money=money_of(body))
    elif kind in ("createAccountKey", "createScopedKey", "editAccountKey", "editScopedKey"):
        facts |= _only(ends=_number(body.get("expiresAt")))
    elif kind in ("rotateAccountKey", "rotateScopedKey"):
        facts |= _only(grace=_number(body.get("graceSeconds")))
    if key := headers.get("idempotency-key"):
        facts["key"] = key.strip('"')
    if "key" in facts:
        facts["body"] = digest({name: value for name, value in body.items() if name != "idempotencyKey"})
    return facts


SECRETS = {
    "startClaim": ("claimToken",),
    "completeClaim": ("claimToken",),
    "pollDevice": ("device_code",),
    "issueToken": ("code", "refresh_token", "device_code"),
    "revokeToken": ("token",),
    "startSignIn": ("email",),
    "completeSignIn": ("email",),
    "getDeviceApproval": ("userCode",),
    "decideDevice": ("userCode",),
}
"""Operations whose `id` is the digest of a secret or an email, with the names under which that is sent."""


def _secret(kind: str, query: dict[str, str], body: dict[str, Any]) -> str | None:
    sent = next((text for name in SECRETS[kind] if (text := _text(body.get(name, query.get(name))))), None)
    match sent, SECRETS[kind]:
        case None, _:
            return None
        case _, ("userCode",):
            sent = user_code(sent)
        case _, ("email",):
            sent = sent.strip().lower()
    return digest(sent)


def user_code(typed: str) -> str:
    """The code of a device as it is shown, however it was typed."""
    return "".join(letter for letter in typed.upper() if "A" <= letter <= "Z")


def _events(events: Any, address: str, agent: str, *, by_day: bool) -> tuple[Event, ...]:
    """The events of a body; none of one that is no list of events, which is refused."""
    read: list[Event] = []
    for each in events if isinstance(events, list) else ():
        booking, kind = (
            (_text(each.get(name)) for name in ("bookingId", "kind")) if isinstance(each, dict) else ("", "")
        )
        if not booking or not kind:
            return ()
        who: str | None = f"device {_uuid(each.get('visitorId'))}"
        if by_day:
            named = each.get("clientAddress")
            seen, by = (named, each.get("userAgent") or "") if named else (address, agent)
            who = f"day {_network(seen)} {by}" if seen else None
        read.append(Event(booking, kind, None if who is None else digest(who)))
    return tuple(read)


def _uuid(value: Any) -> Any:
    """A UUID as the service compares it, however it was written."""
    try:
        return str(UUID(value)) if isinstance(value, str) else value
    except ValueError:
        return value


def _network(address: str) -> str:
    """The address as visitors of a day are told apart by it: IPv6 by its /64 (docs/events.md)."""
    try:
        number = ip_address(address)
    except ValueError:
        return address
    mapped = getattr(number, "ipv4_mapped", None)
    if mapped is not None or number.version == 4:
        return str(mapped or number)
    return f"{int(number) >> 64:x}/64"


def _stripe(body: dict[str, Any]) -> str | None:
    """The booking that an event of the processor names."""
    named = body.get("data", {}).get("object", {}) if isinstance(body.get("data"), dict) else {}
    if not isinstance(named, dict):
        return None
    metadata = named.get("metadata")
    texts = [named.get("client_reference_id"), *(metadata.values() if isinstance(metadata, dict) else ())]
    return next((each for each in texts if isinstance(each, str) and each.startswith("bok_")), None)


def money_of(event: dict[str, Any]) -> Money | None:
    """The report about a payment in an event of the processor, if there is one."""
    data, id, at = event.get("data"), _text(event.get("id")), _number(event.get("created"))
    thing = data.get("object") if isinstance(data, dict) else None
    payment = _text(thing.get("payment_intent")) if isinstance(thing, dict) else None
    if not isinstance(thing, dict) or payment is None or id is None:
        return None
    own, state = _text(thing.get("id")), _text(thing.get("status"))
    match thing.get("object"):
        case "checkout.session" if thing.get("payment_status") == "paid":
            return Money(id, "paid", payment, _number(thing.get("amount_total")))
        case "charge" if event.get("type") == "charge.refunded":
            total = None if thing.get("refunded") is True else _number(thing.get("amount_refunded"))
            return Money(id, "total", payment, total, at=at)
        case "refund" if _stripe(event) is not None:
            return Money(
                id, "refund", payment, _number(thing.get("amount")), own, state, at, _number(thing.get("created"))
            )
        case "dispute":
            cents = _number(thing.get("amount"))
            if state == "lost" and cents is not None:
                cents = max(0, cents - _returned(thing))
            return Money(id, "dispute", payment, cents, own, state, at)
    return None


def _returned(dispute: dict[str, Any]) -> int:
    """The cents that the processor returned of a lost dispute: moves of its balance upwards, in the dispute's currency."""
    moves = dispute.get("balance_transactions")
    rows = [each for each in moves if isinstance(each, dict)] if isinstance(moves, list) else []
    cents = [_number(each.get("amount")) for each in rows if each.get("currency") == dispute.get("currency")]
    return sum(each for each in cents if each is not None and each > 0)


def _caller(headers: dict[str, str]) -> str | None:
    """A name for the key or session of a request that does not tell it. The last cookie counts, and none beside other
    credentials."""
    scheme, _, text = headers.get("authorization", "").partition(" ")
    if "authorization" in headers:
        return caller_of(text.strip()) if scheme.lower() == "bearer" else None
    pairs = [each.strip().partition("=") for each in headers.get("cookie", "").split(";")]
    sessions = [value for name, _, value in pairs if name in ("session", "__Host-session")]
    return f"session-{digest(sessions[-1])}" if sessions else None


def caller_of(key: str) -> str:
    """The name under which the history has a key."""
    return f"key-{digest(key)}"


def digest(value: Any) -> str:
    """Sixteen hexadecimal digits of SHA-256 over a text, or over JSON with sorted names."""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


# The response.


def _answer(kind: str, asked: Asked, status: int, headers: dict[str, str], body: Any) -> Answer:
    limits = tuple(_limits(headers))
    if not isinstance(body, dict):
        return Answer(status, UNREAD if 200 <= status < 300 and status != 204 else None, limits=limits)
    if not 200 <= status < 300:
        retry = _number(body.get("interval", body.get("retryAfter")))
        told = headers.get("retry-after", "")
        retry = int(told) if retry is None and re.fullmatch(r"[0-9]{1,9}", told) else retry
        # The caps of the accounts of one mailbox are shared, which no other fact of a refusal tells.
        shared = "of your mailbox" in str(body.get("message", ""))
        return Answer(status, _text(body.get("error")), retry, shared=shared, limits=limits)
    try:
        facts = _facts(kind, asked, body)
    except (KeyError, TypeError, AttributeError):
        return Answer(status, UNDOCUMENTED, limits=limits)
    if kind == "recordEvent":
        facts = {"outcomes": (_outcome(body, headers.get("x-event-dropped")),)}
    if kind == "listChanges":
        facts["more"] = 'rel="next"' in headers.get("link", "")
    if kind in ("completeSignIn", "finishPasskeySignIn") and not body.get("passkeyRequired"):
        caller = _caller({"cookie": headers.get("set-cookie", "").partition(";")[0]})
        facts["keys"] = () if caller is None else (Key(caller, body.get("id"), ends=body.get("expiresAt")),)
    try:
        # A value of another type than the document's would make a line that nobody can read.
        return cast(
            "Answer", reader_of(Answer)(plain(Answer(status, limits=limits, tenant=body.get("tenantId"), **facts)))
        )
    except ValueError:
        return Answer(status, UNDOCUMENTED, limits=limits)


def _limits(headers: dict[str, str]) -> Iterable[Limit]:
    """The caps and what is left of them, of a request that was charged. Other responses have the limit per minute alone."""
    caps = dict(re.findall(r'"(\w+)";q=(\d+)', headers.get("ratelimit-policy", "")))
    for window, left in re.findall(r'"(\w+)";r=(\d+)', headers.get("ratelimit", "")):
        if window != "minute" and window in caps:
            yield Limit(window, int(caps[window]), int(left))


def _outcome(result: dict[str, Any], dropped: str | None) -> str:
    if "error" in result:
        return "error"
    return "recorded" if result.get("recorded") is True else dropped or "dropped"


def _facts(kind: str, asked: Asked, body: dict[str, Any]) -> dict[str, Any]:
    """What is read from the body of a success. Raises `KeyError` and the like if it is not as the document says."""
    rows = body.get("items", [])
    if "results" in body:
        return {"outcomes": tuple(_outcome(each, each.get("dropped")) for each in body["results"])}
    if "booking" in body or kind in ("listBookings", "listAllBookings"):
        return _bookings([body["booking"]] if "booking" in body else rows, body.get("receipt"))
    if "device_code" in body or kind in ("getDeviceApproval", "decideDevice"):
        return {"login": _login(body)}
    if "submission" in body or kind in ("listSubmissions", "listAllSubmissions"):
        return _submissions([body["submission"]] if "submission" in body else rows)
    if "campaign" in body or kind in ("listCampaigns", "listAllCampaigns", "listReviews"):
        shown = [body["campaign"]] if "campaign" in body else [each.get("campaign", each) for each in rows]
        return {"campaigns": tuple(Campaign(each["id"], each["status"]) for each in shown)}
    if "checkoutUrl" in body:
        return {"bookings": (Booking(asked.id or "", "checkout", held=body["expiresAt"]),)}
    if "requestsUsed" in body:
        used, cap = body["requestsUsed"], body["requestLimit"]
        return {"usage": Usage(body["status"], used, cap, body["dailyRequestsUsed"], body.get("dailyRequestLimit"))}
    if "revokedKeys" in body:
        return {"revoked": tuple(body["revokedKeys"])}
    if "apiKey" in body or "access_token" in body:
        return {"keys": (_key(body),)}
    if kind == "getDelivery":
        return {"days": tuple(Day(each["day"], each["impressions"], each["clicks"]) for each in rows)}
    if kind in ("getInvoices", "listInvoices"):
        documents = body["invoices"] if kind == "getInvoices" else rows
        return {"invoices": tuple(_invoice(each) for each in documents), "more": bool(body.get("hasMore"))}
    if kind in ENTRIES:
        return {"records": tuple(_entry(ENTRIES[kind], body))}
    return _records(kind, body) if kind in LISTS else {}


def _bookings(items: list[dict[str, Any]], receipt: dict[str, Any] | None) -> dict[str, Any]:
    """The facts of bookings, and those of their campaigns, which the same view shows."""
    campaigns = {each["campaignId"]: each["campaignStatus"] for each in items if "campaignStatus" in each}
    return {
        "bookings": tuple(_booking(each, receipt) for each in items),
        "campaigns": tuple(Campaign(id, status) for id, status in campaigns.items()),
    }


def _booking(shown: dict[str, Any], receipt: dict[str, Any] | None) -> Booking:
    return Booking(
        id=shown["id"],
        status=shown["status"],
        slot=shown["slotId"],
        week=shown["weekStart"],
        end=shown["weekEnd"],
        held=shown.get("heldUntil"),
        impressions=shown["impressions"],
        clicks=shown["clicks"],
        paid=receipt["amountCents"] if receipt else None,
        refunded=shown.get("refundedCents") or 0,
        issue=shown.get("paymentIssue"),
        demo=bool(shown.get("demo")),
        price=shown["amountCents"],
    )


def _login(shown: dict[str, Any]) -> Login:
    if "device_code" not in shown:
        return Login(shown["status"])
    codes = digest(shown["device_code"]), digest(user_code(shown["user_code"]))
    return Login("pending", *codes, shown["expires_in"], shown["interval"])


def _submissions(items: list[dict[str, Any]]) -> dict[str, Any]:
    """The states of submissions, which are told as those of campaigns, and the entry of a single one."""
    entry = f"{items[0]['kind']}/{items[0]['slug']}" if len(items) == 1 else None
    return {"campaigns": tuple(Campaign(each["id"], each["status"]) for each in items), "entry": entry}


def _key(body: dict[str, Any]) -> Key:
    refresh = body.get("claimToken", body.get("refresh_token"))
    return Key(
        caller=caller_of(body.get("apiKey") or body["access_token"]),
        id=body.get("id"),
        tenant=body.get("tenantId"),
        ends=body.get("expiresAt"),
        replaces=body.get("previousId"),
        old_ends=body.get("previousEndsAt"),
        claim=None if refresh is None else digest(refresh),
        lives=body.get("expires_in"),
    )


LASTING = ("actorType", "actorId", "action", "targetType", "targetId", "requestId")
"""The fields of an audit record that the deletion of an account leaves."""


def _records(kind: str, body: dict[str, Any]) -> dict[str, Any]:
    if kind == "listChanges":
        rows = [Record(f"{each['kind']}/{each['slug']}", each["at"], each["change"]) for each in body["data"]]
        return {"records": tuple(rows), "cursor": body["nextCursor"]}
    if kind == "listAudit":
        rows = [
            Record(each["id"], each["createdAt"], digest({name: each[name] for name in LASTING}))
            for each in body["items"]
        ]
    else:
        rows = [event_record(each["id"], each["type"], each["data"].get("bookingId"), each) for each in body["items"]]
    return {"records": tuple(rows), "cursor": body["cursor"], "more": body["hasMore"]}


def _entry(list_: str, body: dict[str, Any]) -> Iterable[Record]:
    """An entry as it was shown. Old releases tell no time of it."""
    shown = body.get("bot", body.get("useCase", body))
    if body.get("retiredAt") is not None:
        yield Record(f"{list_}/{shown['slug']}", body["retiredAt"], REMOVED)
    elif "updatedAt" in shown:
        yield Record(f"{list_}/{shown['slug']}", shown["updatedAt"], content_of(shown))


def content_of(entry: dict[str, Any]) -> str:
    """The digest of all of an entry but the time of its last change."""
    return digest({name: value for name, value in entry.items() if name != "updatedAt"})


def event_record(id: str, type: str, booking: str | None, whole: Any) -> Record:
    """An event of the feed. Its digest begins with its type and its booking."""
    return Record(id, 0, f"{type} {booking or '-'} {digest(whole)}")


def _invoice(shown: dict[str, Any]) -> Invoice:
    return Invoice(
        number=shown["number"],
        kind=shown["kind"],
        booking=shown["bookingId"],
        cents=shown["amountCents"],
        digest=digest({name: value for name, value in shown.items() if name != "buyer"}),
        of=shown.get("belongsTo"),
        payment=shown["paymentId"],
        tax=shown["taxCents"],
        rate=round(shown["taxPercent"] * 1_000),
    )


# Values.


def _lower(headers: Headers) -> dict[str, str]:
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return {name.lower(): value for name, value in pairs}


def _joined(headers: Headers) -> dict[str, str]:
    """The headers of a request as the service reads them: the values of one that is repeated are joined."""
    joined: dict[str, str] = {}
    for name, value in headers.items() if isinstance(headers, Mapping) else headers:
        key = name.lower()
        joined[key] = f"{joined[key]}{'; ' if key == 'cookie' else ', '}{value}" if key in joined else value
    return joined


MOST_BYTES = 16 * 2**20
"""A body that is longer once it is decompressed is not read."""


def _json(headers: dict[str, str], body: bytes) -> Any:
    """The body as JSON, or a form as texts; None if it is something else. The service reads JSON whatever the type says."""
    try:
        match headers.get("content-encoding"):
            case "gzip":
                body = zlib.decompressobj(wbits=31).decompress(body, MOST_BYTES)
            case "br":
                body = brotli.Decompressor().process(body, output_buffer_limit=MOST_BYTES)
        if headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
            return {name: found[-1] for name, found in parse_qs(body.decode()).items()}
        return json.loads(body)
    except (ValueError, RecursionError, zlib.error, brotli.error):
        return None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: Any) -> int | None:
    return value if type(value) is int else None


def _only(**facts: Any) -> dict[str, Any]:
    return {name: value for name, value in facts.items() if value is not None}
