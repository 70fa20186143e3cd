"""Refunds and signatures against `localstripe`, which others wrote: what our own stand-in might share a mistake with.

It knows payment intents, refunds and signed webhooks, and neither Checkout nor idempotency keys.
"""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import httpx
import pytest
import trio

from actors.bookings.payments import PaymentsRefused, PaymentsUnavailable
from actors.bookings.records import Mode
from actors.clock import SystemClock
from actors.values import Refused
from service.payments.stripe_gateway import StripePayments
from service.payments.stripe_webhook import StripeWebhook
from service.tokens.links import Links
from tests.payments.bank import HOLD_MS, SECRET, WEBHOOK_SECRET, booking

ROOT = Path(__file__).resolve().parent.parent.parent
LINKS = Links("https://catalog.test", b"a secret of the server, 32 bytes")


@pytest.fixture(scope="module")
def localstripe() -> Iterator[str]:
    """The server's address."""
    command = [sys.executable, "-m", "tests.payments.localstripe_server"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            assert url.startswith("http://127.0.0.1:"), "localstripe did not start"
            yield url
        finally:
            process.terminate()


def ask(url: str, path: str, /, **form: Any) -> Any:
    """Call Stripe directly, as a person with access to the account can."""
    response = httpx.post(f"{url}{path}", data=form, headers={"Authorization": f"Bearer {SECRET}"}, trust_env=False)
    assert response.status_code == 200, response.text
    return response.json() if response.content else None


def intent(url: str, *, paid: bool = True) -> str:
    """A payment intent of 1,250 dollars."""
    if not paid:
        return str(ask(url, "/v1/payment_intents", amount=125_000, currency="usd")["id"])
    card = {"card[number]": "4242424242424242", "card[exp_month]": 12, "card[exp_year]": 2_040, "card[cvc]": "123"}
    method = ask(url, "/v1/payment_methods", type="card", **card)["id"]
    made = ask(url, "/v1/payment_intents", amount=125_000, currency="usd", payment_method=method, confirm="true")
    assert made["status"] == "succeeded"
    return str(made["id"])


def refunds(url: str, payment_id: str) -> Any:
    listed = httpx.get(
        f"{url}/v1/refunds",
        params={"payment_intent": payment_id},
        headers={"Authorization": f"Bearer {SECRET}"},
        trust_env=False,
    )
    return listed.json()["data"]


async def refund(url: str, payment_id: str, key: str = SECRET) -> bool:
    payments = StripePayments(key, LINKS, seconds=10.0, hold_ms=HOLD_MS, url=url)
    return (await payments.refund(replace(booking(mode=Mode.LIVE), payment_id=payment_id))).done


async def test_a_payment_is_paid_back(localstripe: str) -> None:
    payment_id = intent(localstripe)
    assert await refund(localstripe, payment_id) is True
    listed = refunds(localstripe, payment_id)
    assert [(one["amount"], one["metadata"]) for one in listed] == [(125_000, {"booking_id": "bok_1"})]


async def test_what_was_not_paid_cannot_be_paid_back(localstripe: str) -> None:
    with pytest.raises(PaymentsRefused, match="Cannot refund a failed payment"):
        await refund(localstripe, intent(localstripe, paid=False))
    with pytest.raises(PaymentsRefused, match="404"):
        await refund(localstripe, "pi_of_nobody")


async def test_with_a_wrong_key_payments_are_unavailable(localstripe: str) -> None:
    with pytest.raises(PaymentsUnavailable, match="401"):
        await refund(localstripe, "pi_1", key="not_a_key")


@contextmanager
def receiver() -> Iterator[tuple[str, SimpleQueue[tuple[bytes, str]]]]:
    """A URL that accepts posts, and the bodies and signatures posted to it."""
    posted: SimpleQueue[tuple[bytes, str]] = SimpleQueue()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            posted.put((body, self.headers["stripe-signature"]))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/", posted
        finally:
            server.shutdown()
            thread.join()


async def test_an_event_that_others_have_signed_is_opened_and_counts_only_in_live_mode(
    localstripe: str, caplog: pytest.LogCaptureFixture
) -> None:
    with receiver() as (address, posted):
        hook = {"url": address, "secret": WEBHOOK_SECRET, "events[]": "payment_intent.succeeded"}
        ask(localstripe, "/_config/webhooks/ours", **hook)
        intent(localstripe)
        body, signature = await trio.to_thread.run_sync(partial(posted.get, timeout=20))
    assert b"payment_intent.succeeded" in body
    assert json.loads(body)["livemode"] is False, "it is always in test mode"
    assert StripeWebhook(WEBHOOK_SECRET, SystemClock()).read(body, signature) is None
    assert [record.getMessage().partition(" ")[2] for record in caplog.records] == [
        "ignored: not an event of live mode"
    ]
    for secret, changed in (("whsec_another", body), (WEBHOOK_SECRET, body.replace(b"125000", b"125001"))):
        assert isinstance(StripeWebhook(secret, SystemClock()).read(changed, signature), Refused)
