"""A stand-in for Stripe on loopback: Checkout sessions and refunds, as strict as the documentation says Stripe is.

It holds each request to what is documented (the key, the form, an idempotency key), keeps answers under their idempotency
keys and repeats them, failures too, and moves money once. What goes wrong is scripted, one step a request.
"""

import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

SECRET_KEY = "sk_live_stands_in_for_a_key"
HALF_HOUR, DAY = 1_800, 86_400

OPTIONAL_FIELDS = {"customer_email", "custom_text[submit][message]", "metadata[terms_version]"}
SESSION_FIELDS = {
    "mode",
    "client_reference_id",
    "metadata[booking_id]",
    "payment_intent_data[metadata][booking_id]",
    "invoice_creation[enabled]",
    "invoice_creation[invoice_data][metadata][booking_id]",
    "line_items[0][quantity]",
    "line_items[0][price_data][currency]",
    "line_items[0][price_data][unit_amount]",
    "line_items[0][price_data][product_data][name]",
    "line_items[0][price_data][product_data][description]",
    "expires_at",
    "success_url",
    "cancel_url",
}

_INVOICE = "invoice_creation[invoice_data]"
BUYER_FIELDS = {
    f"{_INVOICE}[description]": 1_500,
    **{f"{_INVOICE}[custom_fields][{number}][name]": 40 for number in range(4)},
    **{f"{_INVOICE}[custom_fields][{number}][value]": 140 for number in range(4)},
}
"""What a session may have besides, and the most characters of each."""

Reply = tuple[int, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """One request."""

    method: str
    path: str
    headers: dict[str, str]
    form: dict[str, str]


@dataclass(slots=True)
class Payment:
    """A payment intent and its refunded amount."""

    amount: int
    currency: str = "usd"
    refunded: int = 0


def error(status: int, kind: str, message: str, **more: str) -> Reply:
    return status, {"error": {"type": kind, "message": message, **more}}


@dataclass(eq=False)
class Processor:
    """The state of the stand-in. `script` holds failures for the next requests: a reply, or the name of a mishap.

    Mishaps: `hang`, `wait` (answers when released), `drip` (a byte now and then), `drop` (before anything is done) and
    `lose` (the answer, after it was done). A reply in a list is kept under the idempotency key, as Stripe keeps a failure of
    its own.
    """

    now: int
    url: str = ""
    asked: list[Asked] = field(default_factory=list)
    script: list[Any] = field(default_factory=list)
    kept: dict[str, tuple[dict[str, str], Reply]] = field(default_factory=dict)
    sessions: list[dict[str, Any]] = field(default_factory=list)
    payments: dict[str, Payment] = field(default_factory=dict)
    refunds: dict[str, dict[str, Any]] = field(default_factory=dict)
    invoices: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By session."""
    endpoints: list[dict[str, Any]] | None = None
    """None if the key may not read them."""
    refund_status: str = "succeeded"
    hanging: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)

    def answer(self, asked: Asked) -> tuple[Reply, bool]:
        """The reply to a request, and whether it repeats an earlier one."""
        if asked.headers.get("authorization") != f"Bearer {SECRET_KEY}":
            given = asked.headers.get("authorization", "").removeprefix("Bearer ")
            return error(401, "invalid_request_error", f"Invalid API Key provided: {given}"), False
        if asked.method == "GET":
            return self._read(asked), False
        key = asked.headers.get("idempotency-key", "")
        assert 0 < len(key) <= 255, "every POST has an idempotency key"
        assert asked.headers["content-type"] == "application/x-www-form-urlencoded"
        if key in self.kept:
            form, reply = self.kept[key]
            if form != asked.form:
                words = "Keys for idempotent requests can only be used with the same parameters."
                return error(400, "idempotency_error", words), False
            return reply, True
        step = self.script.pop(0) if self.script and not isinstance(self.script[0], str) else None
        if isinstance(step, tuple):
            return step, False
        reply = step[0] if isinstance(step, list) else self._carry_out(asked)
        if reply[0] == 200 or isinstance(step, list):
            self.kept[key] = (asked.form, reply)
        return reply, False

    def _carry_out(self, asked: Asked) -> Reply:
        match asked.path:
            case "/v1/checkout/sessions":
                return self._session(asked.form)
            case "/v1/refunds":
                return self._refund(asked.form)
        return error(404, "invalid_request_error", f"Unrecognized request URL ({asked.method}: {asked.path}).")

    def _session(self, form: dict[str, str]) -> Reply:
        known = form.keys() - OPTIONAL_FIELDS - BUYER_FIELDS.keys()
        assert known == SESSION_FIELDS, known ^ SESSION_FIELDS
        for name, most in BUYER_FIELDS.items():
            assert name not in form or 0 < len(form[name]) <= most, name
        if "customer_email" in form and not re.fullmatch(r"[\x21-\x7e]+@[\x21-\x7e]+", form["customer_email"]):
            words = f"Invalid email address: {form['customer_email']}"
            return error(400, "invalid_request_error", words, code="email_invalid", param="customer_email")
        expires = int(form["expires_at"])
        if not self.now + HALF_HOUR <= expires <= self.now + DAY:
            words = "The `expires_at` timestamp must be at least 30 minutes from Checkout Session creation."
            return error(400, "invalid_request_error", words, param="expires_at")
        number = len(self.sessions) + 1
        session = {
            "id": f"cs_test_{number}",
            "object": "checkout.session",
            "amount_total": int(form["line_items[0][price_data][unit_amount]"]),
            "client_reference_id": form["client_reference_id"],
            "currency": form["line_items[0][price_data][currency]"],
            "expires_at": expires,
            "livemode": True,
            "metadata": {name[9:-1]: text for name, text in form.items() if name.startswith("metadata[")},
            "mode": form["mode"],
            "payment_status": "unpaid",
            "status": "open",
            "url": f"https://checkout.example.com/c/pay/cs_test_{number}",
        }
        self.sessions.append(session)
        return 200, session

    def _refund(self, form: dict[str, str]) -> Reply:
        assert form.keys() - {"amount"} == {"payment_intent", "metadata[booking_id]"}, form
        payment = self.payments.get(form["payment_intent"])
        if payment is None:
            words = f"No such payment_intent: '{form['payment_intent']}'"
            return error(404, "invalid_request_error", words, code="resource_missing", param="payment_intent")
        left = payment.amount - payment.refunded
        if left == 0:
            words = "Charge ch_1 has already been refunded."
            return error(400, "invalid_request_error", words, code="charge_already_refunded")
        amount = int(form.get("amount", left))
        if not 0 < amount <= left:
            words = f"Refund amount ({amount}) is greater than unrefunded amount on charge ({left})"
            return error(400, "invalid_request_error", words, param="amount")
        if self.refund_status not in ("failed", "canceled"):
            payment.refunded += amount
        refund: dict[str, Any] = {
            "id": f"re_{len(self.refunds) + 1}",
            "object": "refund",
            "amount": amount,
            "created": self.now,
            "currency": payment.currency,
            "failure_reason": "expired_or_canceled_card" if self.refund_status == "failed" else None,
            "metadata": {"booking_id": form["metadata[booking_id]"]},
            "payment_intent": form["payment_intent"],
            "status": self.refund_status,
        }
        self.refunds[refund["id"]] = refund
        return 200, dict(refund)

    def _read(self, asked: Asked) -> Reply:
        address = urlsplit(asked.path)
        if address.path == "/v1/checkout/sessions":
            return self._listed(dict(parse_qsl(address.query)))
        if address.path == "/v1/refunds":
            query = dict(parse_qsl(address.query))
            assert query.keys() == {"payment_intent", "limit"}, query
            found = [each for each in self.refunds.values() if each["payment_intent"] == query["payment_intent"]]
            return 200, {"object": "list", "data": found, "has_more": False, "url": "/v1/refunds"}
        if address.path == "/v1/webhook_endpoints":
            if self.endpoints is None:
                return error(403, "invalid_request_error", "The provided key does not have the required permissions.")
            return 200, {"object": "list", "data": self.endpoints, "has_more": False, "url": address.path}
        refund = self.refunds.get(asked.path.removeprefix("/v1/refunds/"))
        if refund is None:
            return error(404, "invalid_request_error", "No such refund", code="resource_missing")
        return 200, refund

    def _listed(self, query: dict[str, str]) -> Reply:
        """The sessions of a payment intent, with their invoices."""
        assert query.keys() == {"payment_intent", "limit", "expand[0]"}, query
        assert query["expand[0]"] == "data.invoice"
        found = [each for each in self.sessions if each.get("payment_intent") == query["payment_intent"]]
        shown = [each | {"invoice": self.invoices.get(each["id"])} for each in found[: int(query["limit"])]]
        return 200, {"object": "list", "data": shown, "has_more": False, "url": "/v1/checkout/sessions"}

    def pay(self, session_id: str) -> dict[str, Any]:
        """Pay a session, and return the event that Stripe posts."""
        [session] = [each for each in self.sessions if each["id"] == session_id]
        payment_id = f"pi_of_{session_id}"
        self.payments[payment_id] = Payment(session["amount_total"], session["currency"])
        self.invoices[session_id] = {
            "id": f"in_of_{session_id}",
            "object": "invoice",
            "hosted_invoice_url": f"https://invoice.example.com/i/{session_id}",
        }
        session |= {"payment_intent": payment_id, "payment_status": "paid", "status": "complete"}
        return {
            "id": f"evt_of_{session_id}",
            "object": "event",
            "data": {"object": session},
            "livemode": session["livemode"],
            "type": "checkout.session.completed",
        }

    def mishap(self, *names: str) -> str | None:
        """The next scripted failure, if it has one of these names."""
        return self.script.pop(0) if self.script and self.script[0] in names else None


@contextmanager
def running_processor(now: int) -> Iterator[Processor]:
    """A stand-in that serves on a free port of 127.0.0.1."""
    processor = Processor(now)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(processor))
    server.daemon_threads = True
    processor.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield processor
    finally:
        processor.released.set()
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(processor: Processor) -> Callable[..., BaseHTTPRequestHandler]:
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            self._serve(dict(parse_qsl(body, keep_blank_values=True, strict_parsing=True)))

        def do_GET(self) -> None:
            self._serve({})

        def _serve(self, form: dict[str, str]) -> None:
            asked = Asked(self.command, self.path, {name.lower(): value for name, value in self.headers.items()}, form)
            with lock:
                processor.asked.append(asked)
                before = processor.mishap("hang", "wait", "drip", "drop")
            if before in ("hang", "wait"):
                processor.hanging.set()
                processor.released.wait(30)
            if before == "drip":
                self._drip()
            if before not in (None, "wait"):
                self._cut()
                return
            with lock:
                lost = processor.mishap("lose")
                (status, value), repeated = processor.answer(asked)
            if lost is not None:
                self._cut()
                return
            body = value if isinstance(value, bytes) else json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Request-Id", f"req_{len(processor.asked)}")
            if repeated:
                self.send_header("Idempotent-Replayed", "true")
            self.end_headers()
            self.wfile.write(body)

        def _drip(self) -> None:
            """Send bytes often enough to avoid the socket's timeout, until the test ends."""
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            for _ in range(1_000):
                if processor.released.wait(0.03):
                    return
                self.wfile.write(b" ")

        def _cut(self) -> None:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

        def log_message(self, *_: object) -> None:
            pass

    return Handler
