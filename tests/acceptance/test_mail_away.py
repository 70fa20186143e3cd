"""A failing mail server: claims are still accepted, mail is retried, and the rest of the service is unaffected."""

from pathlib import Path

from tests.acceptance.postgres import free_port
from tests.acceptance.processes import Service, serving, until
from tests.acceptance.smtp import MailServer, Mood, SmtpServer


def _start_claim(service: Service, email: str) -> dict[str, str]:
    """Start a claim. Asserts that it succeeds while mail fails, and that the service is healthy."""
    minted = service.mint()
    claim = {"claimToken": minted["claimToken"], "email": email}
    answer = service.post("/api/v1/auth/claim", claim)
    assert (answer.status_code, answer.json()) == (200, {"sent": True})
    assert service.status("/api/v1/bots", minted["apiKey"]) == 200
    assert service.is_ready()
    return claim


def _complete(service: Service, claim: dict[str, str], code: str) -> None:
    answer = service.post("/api/v1/auth/claim/complete", {**claim, "code": code})
    assert answer.status_code == 200, answer.text
    assert answer.json()["email"] == claim["email"]


def _wait_for_failure(service: Service, times: int) -> None:
    until(lambda: service.log().count(" failed on attempt ") >= times, what="a failed attempt")


def test_mail_is_sent_once_the_server_that_was_away_or_failing_takes_it(data_dir: Path) -> None:
    port, mail_server = free_port(), MailServer()
    claims = []
    with serving(data_dir, {"mail.smtp_url": f"smtp://127.0.0.1:{port}", "mail.timeout_seconds": 0.5}) as service:
        claims.append(_start_claim(service, "nobody-listens@example.com"))
        _wait_for_failure(service, 1)
        with SmtpServer(mail_server, port):
            for mood in (Mood.REFUSES, Mood.DROPS, Mood.HANGS):
                mail_server.mood = mood
                failures = service.log().count(" failed on attempt ")
                claims.append(_start_claim(service, f"{mood.name.lower()}@example.com"))
                _wait_for_failure(service, failures + 2)
            assert (mail_server.messages, mail_server.attempts > 3) == ([], True)
            mail_server.mood = Mood.TAKES
            for claim in claims:
                _complete(service, claim, mail_server.code_for(claim["email"]))
        assert "Traceback" not in service.log()
