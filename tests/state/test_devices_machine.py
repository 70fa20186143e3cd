"""Device logins under random histories, compared with a model that knows no batches, overlays or snapshots."""

from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from actors.devices.messages import (
    Answer,
    ApprovedEnded,
    Decide,
    Device,
    DeviceView,
    FreshKey,
    Guesses,
    Message,
    Poll,
    Redeemed,
    Start,
    Status,
    ViewDevice,
)
from actors.devices.state import DeviceRules, Snapshot, decide
from actors.values import Account, Refused
from tests.slow import shortened

RULES = DeviceRules(life_ms=60_000, lock_ms=30_000, wrong_codes=3, full_keys_per_account=2)
CODES = ("BBBBBBBB", "CCCCCCCC", "DDDDDDDD", "FFFFFFFF")
PEOPLE = ("ann", "bob")
recipes = st.one_of(
    st.tuples(st.just("start")),
    st.tuples(st.just("poll"), st.integers(0, 4)),
    st.tuples(st.just("poll"), st.integers(0, 4)),
    st.tuples(st.just("look"), st.integers(0, 5), st.sampled_from(PEOPLE)),
    st.tuples(st.just("approve"), st.integers(0, 4), st.sampled_from(PEOPLE)),
    st.tuples(st.just("deny"), st.integers(0, 4), st.sampled_from(PEOPLE)),
)


@dataclass(slots=True)
class Login:
    """A device login of the model."""

    code: str
    ends_ms: int
    status: str = "pending"
    who: str = ""
    polled_ms: int | None = None
    interval: int = 5


class Model:
    """The expected effect of each message."""

    def __init__(self) -> None:
        self.logins: list[Login] = []
        self.wrong = dict.fromkeys(PEOPLE, 0)
        self.locked_ms = dict.fromkeys(PEOPLE, 0)
        self.keys = dict.fromkeys(PEOPLE, 0)

    def start(self, now_ms: int) -> str:
        free = [code for code in CODES if code not in [login.code for login in self.logins]]
        if not free:
            return "service_unavailable"
        self.logins.append(Login(free[0], now_ms + RULES.life_ms))
        return f"pending {free[0]}"

    def poll(self, number: int, now_ms: int) -> str:
        if number >= len(self.logins) or self._now(self.logins[number], now_ms) == "redeemed":
            return "invalid_code"
        login = self.logins[number]
        if login.status == "approved":
            login.status = "redeemed"
            self.keys[login.who] += 1
            return f"a key of {login.who}"
        if login.status != "pending":
            return {"denied": "access_denied", "expired": "expired_token"}[login.status]
        if login.polled_ms is not None and now_ms < login.polled_ms + login.interval * 1_000 - 500:
            login.interval = min(60, login.interval + 5)
            return f"slow_down {login.interval}"
        login.polled_ms = now_ms
        return "authorization_pending"

    def person(self, act: str, code: str, who: str, now_ms: int) -> str:
        if now_ms < self.locked_ms[who]:
            return "rate_limited"
        login = next((login for login in self.logins if login.code == code), None)
        if login is None:
            self.wrong[who] += 1
            if self.wrong[who] == RULES.wrong_codes:
                self.wrong[who], self.locked_ms[who] = 0, now_ms + RULES.lock_ms
            return "invalid_code"
        self._now(login, now_ms)
        return f"{login.status} {code}" if act == "look" else self._decide(act, login, who, now_ms)

    def _decide(self, act: str, login: Login, who: str, now_ms: int) -> str:
        wish = {"approve": "approved", "deny": "denied"}[act]
        if login.status == "pending":
            if act == "approve" and self.promised(who, now_ms) >= RULES.full_keys_per_account:
                return "key_limit"
            login.status, login.who, self.wrong[who] = wish, who, 0
        elif login.status == "expired":
            return "expired_token"
        elif login.who != who or (login.status == "denied") != (act == "deny"):
            return "invalid_state"
        return f"{login.status} {login.code}"

    def promised(self, who: str, now_ms: int) -> int:
        """Keys issued, and those that approved devices will get."""
        waiting = [login for login in self.logins if login.who == who and self._now(login, now_ms) == "approved"]
        return self.keys[who] + len(waiting)

    def _now(self, login: Login, now_ms: int) -> str:
        if login.status in ("pending", "approved") and now_ms >= login.ends_ms:
            login.status = "expired"
        return login.status


class Devices(RuleBasedStateMachine):
    """Batches of random messages over rows that are kept between them, as a store would."""

    def __init__(self) -> None:
        super().__init__()
        self.now_ms = 1_000_000
        self.rows: dict[str, Device] = {}
        self.guesses = {f"ses_{who}": Guesses(f"ses_{who}") for who in PEOPLE}
        self.keys: list[FreshKey] = []
        self.started = 0
        self.made = 0
        self.model = Model()

    @rule(ms=st.sampled_from([1, 400, 500, 4_499, 4_500, 5_000, 10_000, 30_000, 60_000]))
    def pass_time(self, ms: int) -> None:
        self.now_ms += ms

    @rule(who=st.sampled_from(PEOPLE))
    def revoke_all_keys(self, who: str) -> None:
        """The owner revokes keys, in the concern of keys."""
        self.keys = [key for key in self.keys if key.tenant_id != f"ten_{who}"]
        self.model.keys[who] = 0

    @rule(batch=st.lists(recipes, min_size=1, max_size=6))
    def act(self, batch: list[tuple]) -> None:  # type: ignore[type-arg]
        expected = [self.foretold(*each) for each in batch]
        decision = decide(self.snapshot(), [self.message(*each) for each in batch], self.now_ms, RULES)
        assert [words(answer) for answer in decision.answers] == expected
        self.rows |= decision.changed.devices
        self.guesses |= decision.changed.guesses
        self.keys += decision.keys

    def snapshot(self) -> Snapshot:
        live = {f"ten_{who}": self.live(who) for who in PEOPLE}
        accounts = {f"{who}@example.com": Account(f"{who}@example.com", f"ten_{who}", 0) for who in PEOPLE}
        return Snapshot(dict(self.rows), dict(self.guesses), accounts, live)

    def live(self, who: str) -> int:
        owned = sum(key.tenant_id == f"ten_{who}" for key in self.keys)
        return owned + sum(
            row.status is Status.APPROVED and row.email == f"{who}@example.com" and row.expires_ms > self.now_ms
            for row in self.rows.values()
        )

    def foretold(self, act: str, *rest: object) -> str:
        match act, *rest:
            case ["start"]:
                return self.model.start(self.now_ms)
            case ["poll", int(number)]:
                return self.model.poll(number, self.now_ms)
            case [_, int(number), str(who)]:
                return self.model.person(act, code(number), who, self.now_ms)
        raise AssertionError(act)

    def message(self, act: str, *rest: object) -> Message:
        self.made += 1
        match act, *rest:
            case ["start"]:
                # Ids count stored logins only: a start that finds no free code stores none.
                number = min(self.starts(), len(CODES))
                fresh = Device(f"dev_{number}", bytes([number] * 32), "", "", "", 0, self.now_ms + RULES.life_ms, 5)
                return Start(fresh, CODES)
            case ["poll", int(number)]:
                return Poll(bytes([number] * 32), FreshKey(f"key_{self.made}", b"", "", "", 0), "aud")
            case ["look", int(number), str(who)]:
                return ViewDevice(code(number), f"ses_{who}")
            case [_, int(number), str(who)]:
                return Decide(code(number), f"ses_{who}", f"{who}@example.com", act == "approve", "aud")
        raise AssertionError(act)

    def starts(self) -> int:
        self.started += 1
        return self.started - 1

    @invariant()
    def no_account_has_or_is_promised_too_many_keys(self) -> None:
        assert all(self.live(who) <= RULES.full_keys_per_account for who in PEOPLE)

    @invariant()
    def each_key_came_of_one_device(self) -> None:
        redeemed = [row.key_id for row in self.rows.values() if row.status is Status.REDEEMED]
        assert len(set(redeemed)) == len(redeemed)
        assert {key.id for key in self.keys} <= set(redeemed)


def code(number: int) -> str:
    return CODES[number] if number < len(CODES) else "ZZZZZZZZ"


def words(answer: Answer) -> str:
    match answer:
        case Refused(code=refused, interval_seconds=interval):
            return str(refused) if interval is None else f"{refused} {interval}"
        case DeviceView(device=seen):
            return f"{seen.status} {seen.user_code}"
        case Redeemed(key=key):
            return f"a key of {key.tenant_id.removeprefix('ten_')}"
        case ApprovedEnded(count=count):
            return f"{count} ended"


Devices.TestCase.settings = settings(
    max_examples=shortened(120), stateful_step_count=40, derandomize=True, database=None, deadline=None
)
TestDevices = Devices.TestCase
