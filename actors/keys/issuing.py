"""Issuing and revoking keys, on locked rows. A key ends no later than the key that granted it. Pure; source: ADR 0006."""

import json
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain

from actors.keys.administrators import Administrators
from actors.keys.exposures import EndExposed, ExposedEnded, FoundKey
from actors.keys.granting import may_revoke, refused_grant
from actors.keys.messages import Answer, ByAccount, ByKey, EndKeys, Issue, Key, KeySaved, KeysEnded, Revoke
from actors.keys.unit_of_work import KeyRules, Snapshot, UnitOfWork
from actors.keys.validity import is_live
from actors.shared.credentials import fingerprint, new_id
from actors.shared.notices import Ending, with_facts
from actors.times import DAY_MS
from actors.values import Account, AuditRecord, Code, Refused, Steps, Tenant, Tier

END_NOTICE_MS = 7 * DAY_MS
"""How long before the end of a key its owner is mailed (ADR 0086)."""


class KeyIssuing(UnitOfWork):
    """The messages of a batch that issue and revoke keys."""

    def __init__(self, snapshot: Snapshot, now_ms: int, rules: KeyRules) -> None:
        super().__init__(snapshot, now_ms, rules)
        self._admins = Administrators(snapshot, self.decision, self._account, now_ms)

    def _issue(self, issue: Issue) -> Answer:
        account = self._account(issue.email)
        giver = self._key(issue.granted_by.key_id) if isinstance(issue.granted_by, ByKey) else None
        admin = issue.email in self._admins
        refused = refused_grant(issue, account, giver, self._snapshot.live_sessions, admin=admin, now_ms=self._now_ms)
        if refused is not None:
            return refused
        if account is None:
            account = Account(issue.email, issue.key.tenant_id, self._now_ms)
            self._save_account(account)
            self._save_tenant(Tenant(account.tenant_id, Tier.CLAIMED))
        if self._key(issue.key.id) is not None:
            return Refused(
                Code.IDEMPOTENCY_CONFLICT,
                "A key was already created with this Idempotency-Key. Its text is shown only once; create another key if "
                "you did not save it.",
            )
        if issue.granted_by is not None and (refused := self._too_many_today(account.tenant_id)):
            return refused
        scoped = issue.key.scopes is not None
        most = self._rules.scoped_keys_per_account if scoped else self._rules.full_keys_per_account
        if self._live_keys(account.tenant_id, scoped=scoped) >= most:
            return self._key_limit(most, "scoped" if scoped else "full")
        key = replace(issue.key, tenant_id=account.tenant_id)
        if giver is not None:
            key = replace(key, granter_id=giver.id, expires_ms=earlier(key.expires_ms, giver.expires_ms))
        key = replace(key, end_notice_ms=end_notice_ms(key.expires_ms, self._now_ms))
        self._save_key(key)
        self.decision.audits.append(issue.audit)
        self.decision.outbox += with_facts(issue.notice, Ending.KEY, key.id, key.prefix, how=_how(issue, giver))
        return KeySaved(key)

    def _revoke(self, revoke: Revoke) -> Steps[Answer]:
        key = self._key(revoke.key_id)
        if key is None or not may_revoke(revoke, key):
            return Refused(Code.NOT_FOUND, "There is no such key.")
        ended = yield from self._end(self._family(key), revoke.audit)
        hashes = [each.hash for each in ended if each.id != key.id]
        key = replace(key, revoked_ms=key.revoked_ms or self._now_ms)
        return KeySaved(key, (key.hash, *hashes), tuple([each.id for each in ended]))

    def _family(self, key: Key) -> Iterable[Key]:
        """A key and those that end with it: the later ones of its own rotations, and what it and they granted."""
        roots = (key, *self._tree.rotated_from(key))
        return chain(roots, self._tree.granted(*(root.id for root in roots)))

    def _end_exposed(self, order: EndExposed) -> Steps[Answer]:
        """A text that its program has to refresh has ended before its key, which stays."""
        known: set[bytes] = set()
        changed: list[bytes] = []
        for each in order.found:
            key = self._key(self._snapshot.hashes.get(each.hash))
            if key is not None and key.hash == each.hash:  # Its program may have refreshed it meanwhile.
                known.add(each.hash)
                if key.text_expires_ms is None or self._now_ms < key.text_expires_ms:
                    changed += yield from self._end_found(key, each)
        return ExposedEnded(frozenset(known), tuple(dict.fromkeys(changed)))

    def _end_found(self, key: Key, found: FoundKey) -> Steps[list[bytes]]:
        """End a key that was found in public, and its family only if it still works: the text of a key that has ended proves
        nothing about those that came after it."""
        live, audit = is_live(key, self._now_ms), replace(found.audit, target_id=key.id)
        others = (each for each in self._family(key) if live and each.id != key.id)
        yield from self._end([key], audit)
        rest = yield from self._end(others, replace(audit, action="key.revoked"))
        owner = self._owner(key)
        if live and owner is not None:
            facts = {"label": key.prefix, "name": key.name or "", "url": found.url, "others": str(len(rest) or "")}
            self.decision.outbox.append(replace(found.notice, recipient=owner, facts=json.dumps(facts)))
        return [key.hash, *(each.hash for each in rest)]

    def _end_keys(self, order: EndKeys) -> Steps[Answer]:
        account = self._account(order.email)
        if account is None:  # It was deleted meanwhile, with its keys.
            return KeysEnded(())
        ended = yield from self._end(self._tree.of(account.tenant_id), order.audit)
        return KeysEnded(ended)

    def _end(self, keys: Iterable[Key], audit: AuditRecord) -> Steps[tuple[Key, ...]]:
        """Revoke those of `keys` that are not revoked yet; one may be named twice. Each has a record; that of the key that
        `audit` names is `audit` itself."""
        ended: dict[str, Key] = {}
        changes = json.dumps({"endedWith": audit.target_id})
        for key in keys:
            if key.revoked_ms is None and key.id not in ended:
                ended[key.id] = gone = replace(key, revoked_ms=self._now_ms)
                self._save_key(gone)
                self.decision.audits.append(_record_of(gone, audit, changes))
            yield from self._step()
        self._touch(ended.values())
        return tuple(ended.values())

    def _key_limit(self, most: int, what: str) -> Refused:
        return Refused(Code.KEY_LIMIT, f"This account has {most} live {what} keys, the maximum. Revoke one first.")


def _how(issue: Issue, giver: Key | None) -> str:
    match issue.granted_by:
        case None:
            return "An operator of the service issued it."
        case ByAccount():
            return "Somebody who was signed in to your account created it."
        case ByKey():
            assert giver is not None, "an unknown key grants nothing"
            return f"Your key {giver.prefix}... granted it."


def end_notice_ms(expires_ms: int | None, now_ms: int) -> int | None:
    """When the owner of a key is to be mailed that it ends. None if it never ends, or ends within `END_NOTICE_MS` from now:
    then the end was chosen only just before."""
    if expires_ms is None or expires_ms - END_NOTICE_MS <= now_ms:
        return None
    return expires_ms - END_NOTICE_MS


def _record_of(key: Key, audit: AuditRecord, changes: str) -> AuditRecord:
    if key.id == audit.target_id:
        return audit
    record_id = new_id("aud", fingerprint(audit.id, key.id))
    return replace(audit, id=record_id, target_type="key", target_id=key.id, changes=changes)


def earlier(one: int | None, other: int | None) -> int | None:
    return min((each for each in (one, other) if each is not None), default=None)
