"""Renaming keys, moving their ends, rotating them, and mails about ends, on locked rows. Pure; source: ADR 0086."""

import json
from dataclasses import dataclass, replace

from actors.keys.granting import refused_administration, refused_granter
from actors.keys.issuing import KeyIssuing, earlier, end_notice_ms
from actors.keys.messages import (
    Answer,
    ByKey,
    EditKey,
    EndNoticesSent,
    Key,
    KeySaved,
    Rotated,
    RotateKey,
    SendEndNotices,
)
from actors.keys.validity import is_live
from actors.shared.credentials import Kind, fingerprint, new_id
from actors.shared.notices import Ending, with_facts
from actors.values import AuditRecord, Code, Refused, Steps


@dataclass(frozen=True, slots=True)
class _Target:
    """The key that a message is about, and the key that sent the message, if a key did."""

    key: Key
    giver: Key | None
    admin: bool


class KeyRenewing(KeyIssuing):
    """The messages of a batch that rename keys, move their ends, rotate them, or mail their owners before they end."""

    def _edit(self, edit: EditKey) -> Steps[Answer]:
        found = self._target(edit)
        if isinstance(found, Refused):
            return found
        key, end_ms = found.key, found.key.expires_ms
        if edit.sets_end:
            granter = self._key(key.granter_id)
            end_ms = earlier(edit.expires_ms, None if granter is None else granter.expires_ms)
        if _is_later(end_ms, key.expires_ms) and (refused := self._refused_extension(edit, found)):
            return refused
        changes: dict[str, tuple[str | int | None, str | int | None]] = {}
        if edit.name not in (None, key.name):
            changes["name"] = key.name, edit.name
        if end_ms != key.expires_ms:
            changes["expiresAt"] = key.expires_ms, end_ms
        if not changes:
            return KeySaved(key)
        edited = replace(self._ending_at(key, end_ms), name=edit.name or key.name)
        changed = [edited]
        self._save_key(edited)
        for each in self._tree.granted(key.id):
            if is_live(each, self._now_ms) and _is_later(each.expires_ms, end_ms):
                changed.append(self._ending_at(each, end_ms))
                self._save_key(changed[-1])
                moved = {"expiresAt": (each.expires_ms, end_ms), "endsWith": key.id}
                record_id = new_id("aud", fingerprint(edit.audit.id, each.id))
                record = replace(edit.audit, id=record_id, target_id=each.id, changes=json.dumps(moved))
                self.decision.audits.append(record)
            yield from self._step()
        self.decision.audits.append(replace(edit.audit, changes=json.dumps(changes)))
        return KeySaved(edited, self._touch(changed))

    def _rotate(self, rotate: RotateKey) -> Steps[Answer]:
        if self._key(rotate.fresh_id) is not None:
            return Refused(
                Code.IDEMPOTENCY_CONFLICT,
                "The key was already rotated with this Idempotency-Key. The text of the new key is shown only once; rotate "
                "the new key if you did not save it.",
            )
        found = self._target(rotate)
        if isinstance(found, Refused):
            return found
        old = found.key
        refused = self._refused_rotation(rotate, found)
        if refused is not None:
            return refused
        itself = found.giver is not None and found.giver.id == old.id
        key = replace(
            rotate.fresh[fresh_kind(old)],
            tenant_id=old.tenant_id,
            scopes=old.scopes,
            name=old.name,
            admin=old.admin,
            granter_id=old.granter_id,
            origin_id=(old.origin_id or old.id) if itself else None,
            generation=old.generation + 1 if itself else 0,
            expires_ms=old.expires_ms,
            end_notice_ms=end_notice_ms(old.expires_ms, self._now_ms),
        )
        grace_ms = self._now_ms + rotate.grace_ms
        ends_ms = grace_ms if old.expires_ms is None else min(grace_ms, old.expires_ms)
        over = replace(old, successor_id=key.id, end_notice_ms=None)
        over = replace(over, expires_ms=ends_ms) if rotate.grace_ms else replace(over, revoked_ms=self._now_ms)
        moved: list[Key] = []
        for each in self._tree.granted_directly(old.id):
            if is_live(each, self._now_ms):
                moved.append(replace(each, granter_id=key.id))
                self._save_key(moved[-1])
            yield from self._step()
        self._save_key(over)
        self._save_key(key)
        facts: dict[str, object] = {"successorId": key.id, "endsAt": ends_ms}
        if moved:
            facts["movedKeys"] = [each.id for each in moved]
        self.decision.audits += [replace(rotate.audit, changes=json.dumps(facts)), _issued(rotate, key)]
        how = _how(old, found.giver)
        self.decision.outbox += with_facts(
            rotate.notice, Ending.KEY, key.id, key.prefix, how=how, old=old.prefix, old_ends_ms=str(ends_ms)
        )
        return Rotated(key, over, ends_ms, self._touch([over, *moved]))

    def _send_end_notices(self, message: SendEndNotices) -> Answer:
        """Mail each end once. Moving the end makes a mail due again."""
        told: list[str] = []
        for each in message.notices:
            key, account = self._key(each.key_id), self._account(each.email)
            if key is None or key.end_notice_ms is None or key.end_notice_ms > self._now_ms:
                continue
            self._save_key(replace(key, end_notice_ms=None))
            if account is None or account.tenant_id != key.tenant_id or not is_live(key, self._now_ms):
                continue
            facts = {"label": key.prefix, "name": key.name or "", "expires_ms": str(key.expires_ms)}
            self.decision.outbox.append(replace(each.notice, facts=json.dumps(facts)))
            told.append(key.id)
        return EndNoticesSent(tuple(told))

    def _target(self, message: EditKey | RotateKey) -> _Target | Refused:
        """The live key that a message is about, if its sender may know it."""
        account = self._account(message.email)
        giver = self._key(message.by.key_id) if isinstance(message.by, ByKey) else None
        sessions = self._snapshot.live_sessions
        if refused := refused_granter(message.by, account, giver, sessions, now_ms=self._now_ms):
            return refused
        assert account is not None, "it was refused without one"
        key = self._key(message.key_id)
        if key is None or key.tenant_id != account.tenant_id or not (message.full or key.scopes is not None):
            return Refused(Code.NOT_FOUND, "There is no such key.")
        if key.revoked_ms is not None:
            return Refused(Code.NOT_FOUND, "There is no such key.")
        if not is_live(key, self._now_ms):
            return Refused(Code.INVALID_STATE, "This key has ended. Create another one.")
        if key.successor_id is not None:
            words = "This key was rotated, so only its successor can be changed. Revoke it if it must end now."
            return Refused(Code.INVALID_STATE, words)
        return _Target(key, giver, message.email in self._admins)

    def _refused_extension(self, edit: EditKey, found: _Target) -> Refused | None:
        """A key that could extend itself, or one that outlives it, would never have to end."""
        if found.giver is not None and not self._granted(found.giver, found.key):
            words = "A key can extend only keys that it granted. Sign in to extend this one on the dashboard."
            return Refused(Code.FORBIDDEN, words, hint="/dashboard")
        return refused_administration(edit.by, found.key, admin=found.admin)

    def _refused_rotation(self, rotate: RotateKey, found: _Target) -> Refused | None:
        old = found.key
        if found.giver is not None and found.giver.id != old.id and not self._granted(found.giver, old):
            words = (
                "A key can rotate only itself and keys that it granted. Sign in to rotate this one on the dashboard."
            )
            return Refused(Code.FORBIDDEN, words, hint="/dashboard")
        if found.giver is not None and old.text_expires_ms is not None:
            words = "The refresh token of a program renews this key. Sign in to rotate it on the dashboard."
            return Refused(Code.FORBIDDEN, words, hint="/dashboard")
        if refused := refused_administration(rotate.by, old, admin=found.admin):
            return refused
        if refused := self._too_many_today(old.tenant_id):
            return refused
        scoped = old.scopes is not None
        most = self._rules.scoped_keys_per_account if scoped else self._rules.full_keys_per_account
        if rotate.grace_ms and self._keys_in_grace(old.tenant_id, scoped=scoped) >= most:
            words = (
                f"This account has {most} rotated {'scoped' if scoped else 'full'} keys that still work, the maximum. "
                "Revoke one of them first, or rotate with graceSeconds 0."
            )
            return Refused(Code.KEY_LIMIT, words)
        return None

    def _granted(self, giver: Key, key: Key) -> bool:
        """Whether one key granted another, directly or through others."""
        return self._tree.has_granted(giver.id, key)

    def _ending_at(self, key: Key, end_ms: int | None) -> Key:
        if end_ms == key.expires_ms:
            return key
        return replace(key, expires_ms=end_ms, end_notice_ms=end_notice_ms(end_ms, self._now_ms))


def fresh_kind(old: Key) -> Kind:
    """The kind of the key that replaces another one. It is never anonymous, because it was not minted."""
    return Kind.USER if old.scopes is None else Kind.SCOPED


def _is_later(one: int | None, other: int | None) -> bool:
    """Whether one end lies after another. None is no end."""
    return other is not None and (one is None or one > other)


def _issued(rotate: RotateKey, key: Key) -> AuditRecord:
    """The record of the new key, with what it got from the old one."""
    scopes = None if key.scopes is None else list(key.scopes)
    facts = {"scopes": scopes, "name": key.name, "expiresAt": key.expires_ms, "admin": key.admin or None}
    given = {field: value for field, value in facts.items() if value is not None}
    return replace(rotate.issued, changes=json.dumps(given | {"replaces": rotate.key_id}))


def _how(old: Key, giver: Key | None) -> str:
    if giver is None:
        return f"Somebody who was signed in to your account rotated your key {old.prefix}..., which it replaces."
    if giver.id == old.id:
        return f"Your key {old.prefix}... rotated itself. The new key replaces it."
    return f"Your key {giver.prefix}... rotated your key {old.prefix}..., which the new key replaces."
