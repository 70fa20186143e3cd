"""Promise 7: sessions, device logins, the tokens of programs and submissions follow their tables."""

from typing import Any

from tests.judge.records import Campaign, Key, Limit, Login, Operation
from tests.judge.small import NOON, Case, holds, op, partial
from tests.judge.states import check


def begins(at: float, caller: str = "session-1", lives: float = 30, **facts: Any) -> Operation:
    key = Key(caller, f"ses_{caller[-1]}", ends=NOON + int((at + lives) * 1_000))
    return op("completeSignIn", at, **{"id": "email", "body": "code", "keys": (key,), **facts})


def enters(at: float, caller: str = "session-1", **facts: Any) -> Operation:
    return op("listSessions", at, caller=caller, **facts)


def out(at: float, caller: str = "session-1") -> Operation:
    return enters(at, caller, status=401, code="unauthorized")


def ends(at: float, id: str = "ses_1", **facts: Any) -> Operation:
    return op("endSession", at, id=id, caller="session-9", **facts)


STARTED = op("startDevice", 0, login=Login("pending", "device", "user", 600, 5))


def poll(at: float, code: str | None = "authorization_pending", **facts: Any) -> Operation:
    told = {"keys": (Key("key-1", tenant="t"),)} if code is None else {"status": 400, "code": code}
    return op("pollDevice", at, id="device", **{**told, **facts})


def slow(at: float, pace: int) -> Operation:
    return poll(at, "slow_down", retry=pace)


def decides(at: float, decision: str, status: str, by: str = "session-1") -> Operation:
    return op("decideDevice", at, id="user", decision=decision, login=Login(status), caller=by)


def tokens(at: float, token: str, number: int, **facts: Any) -> Operation:
    """The tokens `number` for a code, which is named `code`, or for an earlier refresh token."""
    grant = "authorization_code" if token == "code" else "refresh_token"
    key = Key(f"key-t{number}", claim=f"r{number}", lives=3_600)
    return op("issueToken", at, **{"id": token, "decision": grant, "body": "client", "keys": (key,), **facts})


def refused(at: float, token: str, **facts: Any) -> Operation:
    return tokens(at, token, 0, keys=(), status=400, code="invalid_grant", **facts)


def uses(at: float, caller: str, *, works: bool = True) -> Operation:
    told: dict[str, Any] = {"limits": (Limit("day", 9, 1),)} if works else {"status": 401, "code": "invalid_api_key"}
    return op("listBots", at, caller=caller, metered=True, **told)


def gives_up(at: float, token: str, client: str = "client") -> Operation:
    return op("revokeToken", at, id=token, body=client)


def review(at: float, decision: str, id: str = "sub_1", **facts: Any) -> Operation:
    states = {"accept": "accepted", "decline": "declined"}
    told = facts if "status" in facts else {"campaigns": (Campaign(id, states[decision]),)}
    return op("reviewSubmission", at, id=id, decision=decision, **told)


MADE = op("createAccountKey", 0, keys=(Key("key-1", id="k1", tenant="t"),))

CLEAN: dict[str, Case] = {
    "a session to its end": [begins(0), enters(1), enters(25), ends(40), out(41)],
    "a session that ran out": [begins(0), out(30), out(60)],
    "ended without an answer": [begins(0), ends(5, status=None), enters(6), out(20), enters(21)],
    "one session more": [begins(0), begins(1, "session-2", body="other"), out(2)],
    "out by a clock that is ahead": [begins(0), enters(28.9), out(29.5), enters(29.6), enters(50)],
    "another code with the same digits": [
        *(begins(0), op("startSignIn", 9, id="email"), begins(11, "session-2")),
    ],
    "others may end it": partial(begins(0), out(2)),
    "a login": [
        *(STARTED, poll(1), slow(2, 10), slow(3, 15), poll(20), decides(25, "approve", "approved")),
        *(decides(26, "approve", "approved"), poll(30, None), poll(31, None), decides(32, "approve", "redeemed")),
        poll(300, "invalid_code"),
    ],
    "a login that was denied": [STARTED, poll(1), decides(2, "deny", "denied"), poll(9, "access_denied")],
    "a login that expired": [STARTED, poll(601), poll(602, "expired_token")],
    "a poll without an answer may have been in time": [
        *(STARTED, poll(1), slow(2, 10), poll(12, status=None), slow(20, 15), slow(26, 20)),
    ],
    "a login at the slowest": [STARTED, poll(1), *(slow(2 + n, min(60, 10 + 5 * n)) for n in range(14))],
    "a program": [tokens(0, "code", 1), uses(1, "key-t1"), tokens(2, "r1", 2), tokens(3, "r1", 2), uses(9, "key-t2")],
    "a token of another client that came again": [
        *(tokens(0, "code", 1), refused(1, "code", body="thief"), uses(60, "key-t1"), gives_up(61, "r1", "thief")),
        uses(99, "key-t1"),
    ],
    "a token that was given up while it was refreshed": [
        *(tokens(0, "code", 1), tokens(1, "r1", 2, took=9), gives_up(2, "r1"), uses(60, "key-t2")),
    ],
    "a key that was revoked": [MADE, op("revokeAccountKey", 1, id="k1", status=None), uses(9, "key-1", works=False)],
    "a key of an account that was ended": [MADE, op("endAll", 1), uses(9, "key-1", works=False)],
    "a key that ended with the one that it replaces": [
        *(MADE, op("rotateAccountKey", 1, id="k1", keys=(Key("key-2", "k2", replaces="k1", old_ends=NOON + 60_000),))),
        *(op("revokeAccountKey", 2, id="k1"), uses(9, "key-2", works=False)),
    ],
    "a key whose page revoked it": partial(MADE, uses(9, "key-1", works=False)),
    "a submission": [review(0, "accept", status=None), review(1, "accept"), review(2, "accept", status=409)],
}

BROKEN: dict[str, tuple[Case, str]] = {
    "a code that opens two sessions": ([begins(0), begins(1, "session-2")], "gave session-1 and session-2"),
    "an ended session": ([begins(0), ends(1), enters(2)], "was ended, and worked later"),
    "an old session": ([begins(0), enters(20), enters(60)], "was not used for its life"),
    "a session that came back": ([begins(0, lives=90), out(80), enters(89)], "was refused as ended, and worked later"),
    "a session that nobody ended": ([begins(0), enters(1), out(2)], "nothing had ended it"),
    "approved and pending": ([STARTED, decides(1, "approve", "approved"), poll(9)], "was approved and later pending"),
    "denied and pending": ([STARTED, poll(1, "access_denied"), poll(9)], "was denied and later pending"),
    "expired and redeemed": ([STARTED, poll(1, "expired_token"), poll(9, None)], "was expired and later redeemed"),
    "after its end": ([STARTED, poll(650)], "is pending after its end"),
    "redeemed after its end": ([STARTED, poll(650, None)], "is redeemed after its end"),
    "two keys for one login": ([STARTED, poll(1, None), poll(2, None, keys=(Key("key-2"),))], "gave key-1 and key-2"),
    "denied against its approval": (
        [STARTED, decides(1, "deny", "approved")],
        "is approved after the decision to deny it",
    ),
    "decided by two": (
        [
            *(begins(0), begins(0, "session-2", id="other", body="other"), STARTED),
            *(decides(1, "approve", "approved"), decides(2, "approve", "approved", "session-2")),
        ],
        "two accounts decided one login",
    ),
    "the first poll is too fast": ([STARTED, slow(1, 10)], "was too fast, and none came in time"),
    "polls that were too fast count": (
        [STARTED, poll(1), slow(2, 10), slow(8, 15), slow(18.2, 20)],
        "was too fast, and none came in time",
    ),
    "a pause that is forgotten": ([STARTED, poll(1), slow(2, 10), slow(3, 10)], "the pause of a login is 10 s after"),
    "a pause that grows by a second": ([STARTED, poll(1), slow(2, 6)], "the pause of a login is 6 s"),
    "a pause without end": ([STARTED, poll(1), *(slow(2 + n, 10 + 5 * n) for n in range(14))], "is 65 s"),
    "two texts for one token": (
        [tokens(0, "code", 1), tokens(1, "r1", 2), tokens(2, "r1", 3)],
        "gave key-t2 and key-t3",
    ),
    "an older token works": (
        [tokens(0, "code", 1), tokens(1, "r1", 2), tokens(2, "r2", 3), tokens(9, "r1", 2)],
        "after the next one was used",
    ),
    "a code that came again": ([tokens(0, "code", 1), refused(1, "code"), uses(60, "key-t1")], "that came again"),
    "a token that came again": (
        [tokens(0, "code", 1), tokens(1, "r1", 2), tokens(2, "r2", 3), refused(3, "r1"), uses(60, "key-t3")],
        "that came again",
    ),
    "a text after its seconds": ([tokens(0, "code", 1), uses(3_700, "key-t1")], "ended at"),
    "a token that was given up": ([tokens(0, "code", 1), gives_up(1, "r1"), uses(60, "key-t1")], "was given up"),
    "a key of a program that was given up": (
        [
            *(tokens(0, "code", 1), op("createScopedKey", 1, caller="key-t1", keys=(Key("key-2", "k2"),))),
            *(gives_up(2, "r1"), uses(60, "key-2")),
        ],
        "was granted by one that ended",
    ),
    "a key that nobody ended": ([MADE, uses(9, "key-1", works=False)], "nothing had ended it"),
    "a rotated key that ends early": (
        [
            *(
                MADE,
                op("rotateAccountKey", 1, id="k1", keys=(Key("key-2", "k2", replaces="k1", old_ends=NOON + 60_000),)),
            ),
            uses(9, "key-1", works=False),
        ],
        "nothing had ended it",
    ),
    "a key of another account": ([MADE, op("getUsage", 1, caller="key-1", tenant="other")], "is of other and t"),
    "a submission that was decided again": ([review(0, "decline"), review(1, "accept")], "was decided 2 times"),
}


def test_sessions_logins_programs_and_submissions_follow_their_tables() -> None:
    holds(check, CLEAN, BROKEN)
