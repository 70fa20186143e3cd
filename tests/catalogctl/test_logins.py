"""Logging in and out, against a server with scripted responses. Only sleeping takes time."""

from urllib.parse import parse_qs

import pytest

from tests.catalogctl.stage import HANGS_UP, Line, Stage, logged_in, refuses, saved, says, scripted
from tests.catalogctl.test_device import START

GRANT = says(
    200,
    {
        "apiKey": "cs_user_secretsecret",
        "access_token": "cs_user_secretsecret",
        "token_type": "Bearer",
        "keyPrefix": "cs_user_secr",
        "tenantId": "ten_1",
    },
)
STARTED = says(200, START)
PENDING = refuses(400, "authorization_pending")


def test_a_login_shows_the_code_opens_the_page_waits_and_saves_the_key(stage: Stage) -> None:
    with scripted(STARTED, PENDING, PENDING, GRANT) as server:
        assert stage.run("login", "--url", server.url) == 0
    assert stage.out == f"Logged in to {server.url} with the key cs_user_secr...\n"
    assert "BCDF-GHJK" in stage.err
    assert "https://catalog.example.com/device\n" in stage.err
    assert stage.opened == [START["verification_uri_complete"]]
    assert stage.slept == [5, 5, 5]
    assert saved(stage) == {server.url: "cs_user_secretsecret"}
    assert "secretsecret" not in stage.out + stage.err
    assert "dvc_secret" not in stage.out + stage.err


def test_every_request_of_a_login_is_a_form_of_the_rfc_without_a_key(stage: Stage) -> None:
    stage.environment["CATALOGCTL_KEY"] = "cs_user_other"
    with scripted(STARTED, GRANT) as server:
        assert stage.run("login", "--url", server.url) == 0
    assert server.targets() == ["POST /api/v1/auth/device", "POST /api/v1/auth/device/token"]
    start, token = server.heard
    assert parse_qs(start.body) == {"client_id": ["catalogctl"]}
    assert parse_qs(token.body) == {
        "grant_type": ["urn:ietf:params:oauth:grant-type:device_code"],
        "device_code": ["dvc_secret"],
        "client_id": ["catalogctl"],
    }
    for heard in server.heard:
        assert heard.headers["content-type"] == "application/x-www-form-urlencoded"
        assert "authorization" not in heard.headers
    assert "CATALOGCTL_KEY is set and takes precedence over this login" in stage.err


def test_a_login_survives_slow_down_lost_connections_and_overload(stage: Stage) -> None:
    script = (
        STARTED,
        refuses(400, "slow_down", interval=10),
        HANGS_UP,
        Line(200, b'{"apiKey": "cs_us', {"Content-Length": "90"}),
        PENDING,
        says(503, {"error": "service_unavailable", "message": "Later."}, Retry_After="25"),
        says(429, {"error": "rate_limited", "message": "Later."}, Retry_After="40"),
        Line(502, b"<html>bad gateway</html>"),
        GRANT,
    )
    with scripted(*script) as server:
        assert stage.run("login", "--url", server.url) == 0
    assert stage.slept == [5, 10, 20, 40, 10, 25, 40, 20]
    assert saved(stage) == {server.url: "cs_user_secretsecret"}
    assert stage.err.count("trying again") == 1


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            refuses(400, "expired_token"),
            "catalogctl: the code expired before it was approved; run catalogctl login again",
        ),
        (refuses(400, "access_denied"), "catalogctl: the login was denied in the browser"),
        (refuses(400, "invalid_code"), "catalogctl: the service no longer knows this login"),
        (refuses(400, "invalid_request", "The form is odd."), "catalogctl: The form is odd. (invalid_request)"),
    ],
)
def test_a_failed_login_gives_the_reason_and_saves_nothing(stage: Stage, answer: Line, words: str) -> None:
    with scripted(STARTED, answer) as server:
        assert stage.run("login", "--url", server.url) == 1
    assert stage.err.splitlines()[-1].startswith(words)
    assert stage.out == ""
    assert saved(stage) == {}


def test_a_login_during_an_outage_ends_when_its_code_expires(stage: Stage) -> None:
    with scripted(says(200, {**START, "expires_in": 100})) as server:
        assert stage.run("login", "--url", server.url) == 3
    assert sum(stage.slept) == 100
    assert "could not be reached before the code expired" in stage.err


def test_ctrl_c_ends_a_login_with_one_line(stage: Stage) -> None:
    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    stage.on_sleep = interrupt
    with scripted(STARTED) as server:
        assert stage.run("login", "--url", server.url) == 130
    assert stage.err.splitlines()[-1] == "catalogctl: interrupted"
    assert saved(stage) == {}


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        (
            says(429, {"error": "rate_limited", "message": "Too many.", "retryAfter": 90}, Retry_After="90"),
            6,
            "again in 90 s",
        ),
        (says(200, {"device_code": "x"}), 3, "does not follow RFC 8628"),
        (Line(200, b"<html>welcome</html>"), 3, "not the service's"),
        (HANGS_UP, 3, "the connection was lost"),
    ],
)
def test_a_login_that_cannot_start_gives_the_reason(stage: Stage, answer: Line, code: int, words: str) -> None:
    with scripted(answer) as server:
        assert stage.run("login", "--url", server.url) == code
    assert words in stage.err
    assert not stage.slept


def test_no_login_starts_if_its_key_could_not_be_saved(stage: Stage) -> None:
    stage.home.mkdir()
    (stage.home / "catalogctl").write_text("a file where the directory should be")
    with scripted(STARTED, GRANT) as server:
        assert stage.run("login", "--url", server.url) == 2
        assert server.heard == []
    assert "cannot" in stage.err


@pytest.mark.parametrize("options", [["--no-browser"], []])
def test_without_a_browser_the_address_and_the_code_are_enough(stage: Stage, options: list[str]) -> None:
    stage.has_browser = bool(options)
    with scripted(STARTED, GRANT) as server:
        assert stage.run("login", "--url", server.url, *options) == 0
    assert (stage.opened == [] or not stage.has_browser, "was opened" in stage.err) == (True, False)


def test_a_second_login_replaces_the_key_and_says_that_the_first_stays_valid(stage: Stage) -> None:
    with scripted(STARTED, GRANT) as server:
        logged_in(stage, server.url, "cs_user_earlier")
        assert stage.run("login", "--url", server.url) == 0
    assert saved(stage) == {server.url: "cs_user_secretsecret"}
    assert "cs_user_earl..., stays valid until you revoke it" in stage.err
    assert f"{server.url}/dashboard" in stage.err


def test_the_last_login_is_the_default_service(stage: Stage) -> None:
    with scripted(STARTED, GRANT, says(200, {"tenantId": "ten_1", "status": "claimed"})) as server:
        assert stage.run("login", "--url", server.url) == 0
        assert stage.run("whoami") == 0
    assert server.heard[-1].headers["authorization"] == "Bearer cs_user_secretsecret"
    assert server.url in stage.out


def test_a_logout_deletes_the_key_of_one_service_which_stays_valid_or_of_all(stage: Stage) -> None:
    logged_in(stage, "https://a.example.com")
    logged_in(stage, "https://b.example.com", "cs_user_b")
    assert stage.run("logout") == 0
    assert saved(stage) == {"https://a.example.com": "cs_user_of_this_test"}
    assert "stays valid until you revoke it at https://b.example.com/dashboard" in stage.err
    assert stage.run("logout", "--url", "https://b.example.com") == 2
    assert stage.err == "catalogctl: you are not logged in to https://b.example.com\n"
    logged_in(stage, "https://b.example.com", "cs_user_b")
    assert stage.run("logout", "--all") == 0
    assert saved(stage) == {}
    assert stage.run("logout", "--all") == 2
