"""Claims under random histories: keys have one owner, counts are conserved, attempts and limits hold."""

from copy import deepcopy
from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from actors.keys.messages import Claimed, CompleteClaim, Message, StartClaim
from actors.keys.state import KeyRules
from actors.shared.codes import CodeRules
from actors.values import Done, Tier
from tests.slow import shortened
from tests.state.registry import ANN, BOB, DAY, MINUTE, RIGHT, SECOND, WRONG, Registry, token

EMAILS = st.sampled_from([ANN, BOB])
names = st.integers(0, 3)
OWN = "the email of the code"
recipes = st.one_of(
    st.tuples(st.just("start"), names, EMAILS),
    st.tuples(st.just("complete"), names, st.sampled_from([OWN, OWN, OWN, ANN, BOB]), st.booleans()),
    st.tuples(st.just("complete"), names, st.just(OWN), st.just(True)),
    st.tuples(st.just("revoke"), names),
    st.tuples(st.just("issue"), EMAILS),
    st.tuples(st.just("tier"), EMAILS, st.sampled_from([Tier.CLAIMED, Tier.UPGRADED])),
)


class Claims(RuleBasedStateMachine):
    """Batches of random messages against a registry with tight limits; every batch is also decided one by one."""

    def __init__(self) -> None:
        super().__init__()
        self.registry = Registry(KeyRules(full_keys_per_account=3, codes=CodeRules(per_day=3, attempts=2)))
        self.made = 0
        self.minted: list[str] = []
        self.charged = 0
        self.owners: dict[str, str] = {}
        self.guesses: dict[tuple[bytes, str], int] = {}
        self.letters_today: dict[tuple[bytes, int], int] = {}
        self.mint()

    @rule()
    def mint(self) -> None:
        name = self.name()
        self.registry.act(self.registry.mint(name))
        self.minted.insert(0, name)

    def name(self) -> str:
        self.made += 1
        return str(self.made)

    @rule(span_ms=st.sampled_from([SECOND, MINUTE, 6 * MINUTE, DAY // 2, 4 * DAY]))
    def pass_time(self, span_ms: int) -> None:
        self.registry.pass_ms(span_ms)

    @rule(data=st.data(), requests=st.integers(1, 9))
    def use(self, data: st.DataObject, requests: int) -> None:
        living = sorted(tenant.id for tenant in self.registry.tenants.values() if tenant.merged_into is None)
        self.registry.use(data.draw(st.sampled_from(living)), requests)
        self.charged += requests

    @rule(recipe=st.lists(recipes, min_size=1, max_size=6))
    def batch(self, recipe: list[tuple]) -> None:  # type: ignore[type-arg]
        self.decide([self.message(*each) for each in recipe])

    @rule(email=EMAILS, right=st.booleans())
    def start_and_complete(self, email: str, right: bool) -> None:
        name = self.minted[0]
        self.decide([self.registry.start(name, email), self.message("complete", 0, email, right)])

    def decide(self, messages: list[Message]) -> None:
        singly = deepcopy(self.registry)
        answers = self.registry.act(*messages)
        assert answers == [singly.one(message) for message in messages]
        assert singly == Registry(**(vars(self.registry) | {"last": singly.last}))
        for message, answer in zip(messages, answers, strict=True):
            self.note(message, answer)

    def message(self, kind: str, *rest: object) -> Message:
        registry = self.registry
        if isinstance(rest[0], int):
            rest = (self.minted[rest[0] % len(self.minted)], *rest[1:])
        match kind, *rest:
            case "start", str(name), str(email):
                return registry.start(name, email)
            case "complete", str(name), str(email), bool(right):
                if email == OWN:
                    email = registry.claims[token(name)].email or ANN
                complete = registry.complete(name, email)
                return complete if right else replace(complete, proof=WRONG)
            case "revoke", str(name):
                return registry.revoke(name)
            case "issue", str(email):
                return registry.issue(self.name(), email)
            case "tier", str(email), Tier() as tier:
                return registry.set_tier(tier, email)
        raise AssertionError(kind)

    def note(self, message: Message, answer: object) -> None:
        match message, answer:
            case StartClaim(token_hash=token_hash), Done():
                self.guesses[token_hash, message.email] = 0
                place = token_hash, self.registry.now_ms // DAY
                self.letters_today[place] = self.letters_today.get(place, 0) + 1
            case CompleteClaim(token_hash=token_hash), Claimed(key, _, email):
                assert self.owners.setdefault(key.id, email) == email
                assert message.proof == RIGHT
                assert self.guesses[token_hash, email] < 2
                self.guesses[token_hash, email] = 0
            case CompleteClaim(token_hash=token_hash, email=email, proof=proof), _ if proof == WRONG:
                self.guesses[token_hash, email] = self.guesses.get((token_hash, email), 0) + 1

    @invariant()
    def every_request_is_counted_in_one_living_tenant(self) -> None:
        living = [tenant for tenant in self.registry.tenants.values() if tenant.merged_into is None]
        assert sum(tenant.lifetime_used for tenant in living) == self.charged

    @invariant()
    def every_key_has_a_living_tenant(self) -> None:
        for key in self.registry.keys.values():
            assert self.registry.tenants[key.tenant_id].merged_into is None

    @invariant()
    def every_account_has_a_living_tenant_of_its_own(self) -> None:
        owned = [account.tenant_id for account in self.registry.accounts.values()]
        assert len(set(owned)) == len(owned)
        for tenant_id in owned:
            tenant = self.registry.tenants[tenant_id]
            assert (tenant.merged_into, tenant.tier is Tier.ANONYMOUS) == (None, False)

    @invariant()
    def a_key_stays_with_who_claimed_it(self) -> None:
        for key_id, email in self.owners.items():
            assert self.registry.keys[key_id].tenant_id == self.registry.accounts[email].tenant_id

    @invariant()
    def claimed_keys_do_not_expire_and_others_do(self) -> None:
        for claim in self.registry.claims.values():
            assert (self.registry.keys[claim.key_id].expires_ms is None) == (claim.completed_ms is not None)

    @invariant()
    def no_account_has_too_many_keys(self) -> None:
        for account in self.registry.accounts.values():
            keys = [key for key in self.registry.keys.values() if key.tenant_id == account.tenant_id]
            assert sum(key.revoked_ms is None for key in keys) <= 3

    @invariant()
    def attempts_and_letters_stay_below_their_limits(self) -> None:
        assert all(claim.attempts <= 2 for claim in self.registry.claims.values())
        assert all(messages <= 3 for messages in self.letters_today.values())

    @invariant()
    def each_claim_was_audited_once(self) -> None:
        claimed = [record.target_id for record in self.registry.audits if record.action == "key.claimed"]
        assert len(set(claimed)) == len(claimed)
        assert set(claimed) == {
            claim.key_id for claim in self.registry.claims.values() if claim.completed_ms is not None
        }


Claims.TestCase.settings = settings(
    max_examples=shortened(150), stateful_step_count=40, derandomize=True, database=None, deadline=None
)
TestClaims = Claims.TestCase
