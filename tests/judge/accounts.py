"""The owners of callers, as answers tell them: callers, accounts, and the claims that join them. Pure."""

from collections import defaultdict

from tests.judge.records import History, Operation


class Accounts:
    """Callers and accounts of a history. Two callers of one account may be known as two, never the other way round."""

    def __init__(self, history: History) -> None:
        self.tenants: defaultdict[str, set[str]] = defaultdict(set)
        """The accounts that a caller was of, one after another."""
        self.claimed = set[str]()
        """Callers that a claim may have given to another account."""
        self.unsure = set[str]()
        """Those of them whose claim had no answer, so that nobody knows to which account."""
        self.minted = set[str]()
        """Accounts that began with a key in this history."""
        self.by_id: dict[str, str] = {}
        """Callers by the ids of their keys."""
        self._newest: dict[str, str] = {}
        claims: dict[str, str] = {}
        made: list[tuple[str, str]] = []
        tried: list[Operation] = []
        for operation in sorted(history.operations, key=lambda each: each.ended):
            self._note(operation, claims, made)
            if operation.kind == "completeClaim" and (operation.good or operation.doubtful):
                tried.append(operation)
        for operation in tried:
            self._claim(operation, claims)
        for maker, caller in made:
            if maker in self._newest and caller not in self._newest:
                self._belongs(caller, self._newest[maker])

    def _note(self, operation: Operation, claims: dict[str, str], made: list[tuple[str, str]]) -> None:
        answer, caller = operation.said, operation.asked.caller
        for key in answer.keys:
            if key.id is not None:
                self.by_id[key.id] = key.caller
            if key.claim is not None:
                claims[key.claim] = key.caller
            if key.tenant is not None:
                self._belongs(key.caller, key.tenant)
                if operation.kind == "mintKey":
                    self.minted.add(key.tenant)
            elif caller is not None and operation.kind != "issueToken":
                made.append((caller, key.caller))
        if operation.kind == "getUsage" and answer.tenant is not None and caller is not None:
            self._belongs(caller, answer.tenant)

    def _belongs(self, caller: str, tenant: str) -> None:
        self.tenants[caller].add(tenant)
        self._newest[caller] = tenant

    def _claim(self, operation: Operation, claims: dict[str, str]) -> None:
        caller = claims.get(operation.asked.id or "")
        if caller is None:
            return
        self.claimed.add(caller)
        if operation.good and operation.said.tenant is not None:
            self._belongs(caller, operation.said.tenant)
        else:
            self.unsure.add(caller)

    def owner(self, caller: str | None) -> str:
        """The newest account of a caller, or the caller itself while no answer tells it."""
        return self._newest.get(caller or "", caller or "")
