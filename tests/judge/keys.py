"""Promise 7: a key works until something may have ended it, and not after. So does the text of a program's key. Pure."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import inf
from typing import NamedTuple

from tests.judge.accounts import Accounts
from tests.judge.charges import is_charged
from tests.judge.finding import Verdict, is_whole, time_of
from tests.judge.records import History, Key, Operation

NAMING = frozenset(f"{verb}{kind}Key" for verb in ("rotate", "revoke", "edit") for kind in ("Account", "Scoped", ""))
"""Operations that may end the key that they name."""
ENDING = frozenset(
    {
        "reportExposedKeys",
        "endAll",
        "deleteAccount",
        "confirmAccountDeletion",
        "suspendAccount",
        "refundAccount",
        "page",
    }
)
"""Those that may end keys that they do not name."""


LINE = 100
"""Keys of one line of rotations that are followed."""


class Death(NamedTuple):
    """When a key certainly ended, why, and the operation that tells it."""

    moment: float
    why: str
    proof: Operation | None = None


def check(history: History, verdict: Verdict) -> None:
    accounts, grace = Accounts(history), max(history.header.visible_ms, 2 * history.header.clock_ms)
    operations = sorted(history.operations, key=lambda each: each.ended)
    dead = _deaths(history, accounts, _programs(operations, verdict), whole=is_whole(history))
    claimed: dict[str, Operation] = {}
    refused: dict[str, Operation] = {}
    for operation in operations:
        usage = operation.said.usage
        if operation.said.code == "invalid_api_key":
            refused.setdefault(operation.asked.caller or "", operation)
        if usage is not None and operation.kind == "getUsage" and usage.status != "anonymous":
            claimed.setdefault(operation.asked.caller or "", operation)
    minted: dict[str, Operation] = {}
    for operation in operations:
        caller, usage = operation.asked.caller, operation.said.usage
        for key in operation.said.keys if operation.kind == "mintKey" else ():
            verdict.judged += 1
            if minted.setdefault(key.caller, operation) is not operation:
                verdict.breaks(f"{key.caller} was minted twice", minted[key.caller], operation)
        if caller is None or not (is_charged(operation) or (operation.kind == "getUsage" and operation.good)):
            continue
        verdict.judged += 1
        moment, why, proof = dead.get(caller, Death(inf, ""))
        if proof is not None and operation.began > moment + grace:
            verdict.breaks(f"the key of {caller} {why} at {time_of(moment)}, and worked later", proof, operation)
        elif caller in refused and operation.began > refused[caller].ended + grace:
            verdict.breaks(f"the key of {caller} was refused as ended, and worked later", refused[caller], operation)
        anonymous = usage is not None and usage.status == "anonymous" and caller in claimed
        if anonymous and operation.began > claimed[caller].ended + grace:
            verdict.breaks(f"the key of {caller} was claimed and is anonymous again", claimed[caller], operation)
    _told(history, operations, accounts, refused, verdict)


def _deaths(
    history: History, accounts: Accounts, programs: Sequence[tuple[str, Death]], *, whole: bool
) -> dict[str, Death]:
    """When each key certainly ended. A page may claim a key, or move its end. What a key granted ends with it."""
    dead: dict[str, Death] = {}
    moved = {each.asked.id for each in history.operations if each.kind in ("editAccountKey", "editScopedKey")}
    granted: defaultdict[str, list[tuple[str, Operation]]] = defaultdict(list)
    for operation in history.operations:
        if operation.kind != "issueToken" and (operation.asked.caller or "").startswith("key-"):
            for key in operation.said.keys:
                if key.replaces is None:
                    granted[operation.asked.caller or ""].append((key.caller, operation))

    def ends(caller: str | None, death: Death, *, family: bool = False) -> None:
        if caller is None:
            return
        if death.moment < dead.get(caller, (inf,))[0]:
            dead[caller] = death
        for child, made in granted.pop(caller, []) if family else ():
            if made.ended < death.moment:
                ends(child, death._replace(why="was granted by one that ended"), family=True)

    for caller, death in programs:
        ends(caller, death, family=death.why != "ended")
    for operation in history.operations:
        for id in operation.said.revoked:
            ends(accounts.by_id.get(id), Death(operation.ended, "was revoked", operation), family=True)
        for key in operation.said.keys:
            if key.old_ends is not None and key.replaces is not None:
                moment = max(key.old_ends, operation.ended)
                ends(accounts.by_id.get(key.replaces), Death(moment, "was replaced", operation))
            lasts = not whole or key.caller in accounts.claimed or key.id in moved - {None}
            if key.ends is not None and not lasts and key.caller.startswith("key-"):
                ends(key.caller, Death(key.ends, "ended", operation))
    return dead


# Programs: the texts of one key, each told with the token that refreshes it.


def _programs(operations: Sequence[Operation], verdict: Verdict) -> list[tuple[str, Death]]:
    """The deaths of programs' keys by their texts: a code or a refresh token that came again, and a token that was given up,
    end the key. Each text ends after its seconds."""
    chains: dict[str, str] = {}
    texts: defaultdict[str, list[tuple[Key, Operation]]] = defaultdict(list)
    after: dict[str, str] = {}
    worked: dict[str, list[Operation]] = defaultdict(list)
    dead: list[tuple[str, Death]] = []
    ended: dict[str, Death] = {}
    asked = [each for each in operations if each.kind == "issueToken" and each.asked.id is not None]
    for operation in asked:
        for key in operation.said.keys:
            if key.claim is not None and operation.asked.id is not None:
                chain = chains.setdefault(operation.asked.id, operation.asked.id)
                chains[key.claim] = chains[key.caller.removeprefix("key-")] = chain
                texts[chain].append((key, operation))
                after.setdefault(operation.asked.id, key.claim)
                worked[operation.asked.id].append(operation)
                dead.append((key.caller, Death(operation.ended + 1_000 * (key.lives or inf), "ended", operation)))
    for operation in asked:
        token = operation.asked.id or ""
        used = worked.get(after.get(token, "")) if operation.asked.decision == "refresh_token" else worked.get(token)
        # The first to end has used it, whatever else had been asked for at the same time.
        first = used[0] if used else None
        if first is None or first.ended >= operation.began or first.asked.body != operation.asked.body:
            continue
        if operation.good and operation.asked.decision == "refresh_token":
            verdict.breaks("a refresh token worked after the next one was used", first, operation)
        elif operation.said.code == "invalid_grant":
            death = Death(operation.ended, "was ended by a code or a token that came again", operation)
            ended.setdefault(chains[token], death)
    of_chain: defaultdict[str | None, list[Operation]] = defaultdict(list)
    for operation in asked:
        of_chain[chains.get(operation.asked.id or "")].append(operation)
    for operation in operations:
        if operation.kind == "revokeToken" and operation.good and operation.asked.id in chains:
            chain = chains[operation.asked.id or ""]
            if chain not in ended and _is_given_up(operation, texts[chain], of_chain[chain]):
                ended.setdefault(chain, Death(operation.ended, "was given up by its program", operation))
    for chain, death in ended.items():
        dead += [(key.caller, death) for key, _ in texts[chain]]
    for operation in asked:
        late = ended.get(chains.get(operation.asked.id or "", ""))
        if late is not None and late.proof is not None and operation.good and operation.began > late.moment:
            verdict.breaks("a program's key was ended, and refreshed later", late.proof, operation)
    return dead


def _is_given_up(revoked: Operation, texts: Sequence[tuple[Key, Operation]], asked: Sequence[Operation]) -> bool:
    """Whether a client gave up its newest token. Others may be unknown, so nothing else may have been asked for since."""
    key, told = texts[-1]
    others = (each for each in asked if each is not told)
    newest = revoked.asked.id in (key.claim, key.caller.removeprefix("key-")) and told.ended < revoked.began
    mine = told.asked.body == revoked.asked.body
    return newest and mine and all(each.ended < told.began or each.began > revoked.ended for each in others)


# Keys and sessions that an answer told work.


def _told(
    history: History,
    operations: Sequence[Operation],
    accounts: Accounts,
    refused: dict[str, Operation],
    verdict: Verdict,
) -> None:
    """A key that an answer told is of the account that it told, and is refused only if something may have ended it."""
    if not is_whole(history):
        verdict.unjudged["what may have ended a key is known only in a whole history"] += len(accounts.by_id)
        return
    clock = history.header.clock_ms
    tried = [each for each in operations if each.good or each.doubtful]
    anything = min((each.began for each in tried if each.kind in ENDING), default=inf)
    named: defaultdict[str | None, list[Operation]] = defaultdict(list)
    maker: dict[str, str | None] = {}
    replaces: dict[str, str] = {}
    for operation in tried:
        if operation.kind in NAMING:
            named[operation.asked.id].append(operation)
        for key in operation.said.keys:
            maker[key.caller] = operation.asked.caller
            if key.id is not None and key.replaces is not None:
                replaces[key.id] = key.replaces
    for operation in operations:
        for key in operation.said.keys:
            tenants = accounts.tenants[key.caller]
            if key.id is None or not key.caller.startswith("key-"):
                continue
            verdict.judged += 1
            if key.tenant is not None and len(tenants) > 1 and key.caller not in accounts.claimed:
                verdict.breaks(f"the key {key.id} is of {_and(tenants)}", operation)
            first, by_key = refused.get(key.caller), (maker[key.caller] or "").startswith("key-")
            if first is not None and anything < first.ended:
                verdict.unjudged["an operation on an account may have ended its keys and sessions, or others"] += 1
            if first is None or anything < first.ended or by_key or key.caller in accounts.claimed:
                continue
            over = key.ends is not None and key.ends - clock <= first.ended
            causes = any(_may_end(each, first, clock) for each in (*named[key.id], *named[None]))
            if not over and not causes and not _with_another(key.replaces, replaces, named, first):
                verdict.breaks(f"the key {key.id} was refused, although nothing had ended it", operation, first)


def _may_end(named: Operation, refused: Operation, clock_ms: float) -> bool:
    """Whether an operation that names a key may have ended it before it was refused. A rotation tells when it does."""
    ends = [key.old_ends for key in named.said.keys if key.old_ends is not None]
    return named.began < refused.ended and (not ends or min(ends) - clock_ms <= refused.ended)


def _with_another(
    id: str | None, replaces: dict[str, str], named: Mapping[str | None, list[Operation]], refused: Operation
) -> bool:
    """Whether a key may have ended with one that it replaces, at once or by others. A longer line than this is not judged."""
    for _ in range(LINE):
        if id is None:
            return False
        if any(each.kind.startswith("revoke") and each.began < refused.ended for each in named.get(id, ())):
            return True
        id = replaces.get(id)
    return True


def _and(words: set[str]) -> str:
    return " and ".join(sorted(words))
