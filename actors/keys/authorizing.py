"""Authorizing clients: storing what a person allowed, exchanging codes for keys, and refreshing their texts. Pure.

On locked rows; source: RFC 6749, 7636, 8707, 9700 and ADR 0109. The key of a client is a scoped key like any other: its owner
sees, edits and revokes it, and it counts for the same limits.
"""

import json
from dataclasses import replace

from actors.keys.authorizations import Authorization, Authorize, EndAuthorization, ExchangeCode, FreshText, RefreshText
from actors.keys.issuing import end_notice_ms
from actors.keys.messages import Answer, Authorized, Key, KeysEnded
from actors.keys.renewing import KeyRenewing
from actors.keys.validity import is_live
from actors.shared.credentials import Kind, constant_time_equal
from actors.shared.notices import Ending, with_facts
from actors.times import DAY_MS
from actors.values import AuditRecord, Code, Refused, Steps, session_ended

OPEN_CODES = 20
"""Codes of one account that were not exchanged yet. Each lasts for `code_life_ms`."""

KEPT_MS = 365 * DAY_MS
"""How long an authorization stays after its last refresh, if its owner lets the key live without end."""


class KeyAuthorizing(KeyRenewing):
    """The messages of a batch about what persons allowed clients."""

    def _authorize(self, order: Authorize) -> Answer:
        asked = order.authorization
        account = self._account(asked.email)
        if account is None or asked.session_id not in self._snapshot.live_sessions:
            return session_ended()
        if account.suspended_ms is not None:
            return Refused(Code.FORBIDDEN, "This account is suspended, so it allows no program anything.")
        if asked.id in self._snapshot.authorizations or asked.id in self.decision.changed.authorizations:
            return Refused(Code.INVALID_STATE, "This form was sent before. Start again from the program.")
        if refused := self._too_many_today(account.tenant_id) or self._no_room(account.tenant_id):
            return refused
        before = self._snapshot.authorizations
        opened = self._snapshot.open_codes.get(asked.email, 0) + sum(
            _waits(each) - _waits(before.get(each.id))
            for each in self.decision.changed.authorizations.values()
            if each.email == asked.email
        )
        if opened >= OPEN_CODES:
            words = f"This account has allowed {opened} programs that have not connected yet. Try again in a minute."
            return Refused(Code.RATE_LIMITED, words, 60)
        self._save_authorization(asked)
        return Authorized(asked)

    def _exchange(self, exchange: ExchangeCode) -> Steps[Answer]:
        found = self._authorization(exchange.code_hash)
        if found is None or found.client_hash != exchange.client_hash:
            return _no_grant("The code is unknown or has expired, or is another client's.")
        if found.key_id is not None:
            yield from self._end_authorized(found, exchange.revoked, "replayed_code")
            return _no_grant("The code was exchanged before, so its tokens were revoked.")
        if found.expires_ms <= self._now_ms:
            return _no_grant("The code is unknown or has expired, or is another client's.")
        if found.redirect_uri != exchange.redirect_uri:
            return _no_grant("The `redirect_uri` is not the one of the authorization request.")
        if not constant_time_equal(found.challenge, exchange.challenge):
            return _no_grant(
                "The `code_verifier` does not belong to the `code_challenge` of the authorization request."
            )
        if exchange.resource not in (None, found.resource):
            return _other_resource()
        return self._issue_authorized(found, exchange)

    def _issue_authorized(self, found: Authorization, exchange: ExchangeCode) -> Answer:
        account = self._account(found.email)
        if account is None or account.suspended_ms is not None or found.session_id not in self._snapshot.live_sessions:
            return _no_grant("The session that allowed it has ended, or its account has.")
        if refused := self._too_many_today(account.tenant_id) or self._no_room(account.tenant_id):
            return _no_grant(refused.message)
        key = Key(
            id=exchange.key_id,
            hash=exchange.text.key_hash,
            prefix=exchange.text.prefix,
            kind=Kind.SCOPED,
            tenant_id=account.tenant_id,
            created_ms=self._now_ms,
            scopes=found.scopes,
            name=found.client_name,
            expires_ms=found.key_expires_ms,
            end_notice_ms=end_notice_ms(found.key_expires_ms, self._now_ms),
            text_expires_ms=self._text_end_ms(found.key_expires_ms),
        )
        self._save_key(key)
        exchanged = replace(
            self._with_text(found, key, exchange.text), key_id=key.id, refresh_hash=exchange.text.refresh_hash
        )
        self._save_authorization(exchanged)
        facts = {
            "scopes": list(found.scopes),
            "name": key.name,
            "expiresAt": key.expires_ms,
            "resource": found.resource,
        }
        self.decision.audits.append(replace(_by(found, exchange.issued), changes=json.dumps(facts)))
        how = f'The program "{found.client_name}" asked for it, and somebody who was signed in to your account allowed it.'
        notice = replace(exchange.notice, recipient=found.email)
        self.decision.outbox += with_facts(notice, Ending.KEY, key.id, key.prefix, how=how)
        return Authorized(exchanged, key)

    def _refresh(self, refresh: RefreshText) -> Steps[Answer]:
        found = self._authorization(refresh.text.refresh_hash)
        if found is None or found.client_hash != refresh.client_hash:
            return _no_grant("The refresh token is unknown, or is another client's.")
        key = self._key_of(found)
        if key is None:
            if refresh.secret_hash != found.secret_hash:
                # The key may still work: where a clock is behind, or after its owner rotated it.
                yield from self._end_authorized(found, refresh.revoked, "replayed_refresh_token")
            return _no_grant("The key of the refresh token was revoked or has ended.")
        if refresh.resource not in (None, found.resource):
            return _other_resource()
        if not set(refresh.scopes or ()) <= set(found.scopes):
            return Refused(Code.INVALID_SCOPE, f"The person allowed no more than {' '.join(found.scopes)}.")
        if refresh.secret_hash == found.secret_hash:
            self.decision.touched_keys.append(key.hash)
            key = replace(key, hash=refresh.text.key_hash, text_expires_ms=self._text_end_ms(key.expires_ms))
            self._save_key(key)
            renewed = self._with_text(found, key, refresh.text)
            repeat_until_ms = self._now_ms + self._rules.refresh_repeat_ms
            renewed = replace(renewed, spent_hash=found.secret_hash, repeat_until_ms=repeat_until_ms)
            self._save_authorization(renewed)
            return Authorized(renewed, key)
        repeats = refresh.secret_hash == found.spent_hash and refresh.text.secret_hash == found.secret_hash
        if repeats and self._now_ms < (found.repeat_until_ms or 0):
            return Authorized(found, key)
        yield from self._end_authorized(found, refresh.revoked, "replayed_refresh_token")
        return _no_grant("The refresh token was used before, so its key was revoked.")

    def _end_authorization(self, order: EndAuthorization) -> Steps[Answer]:
        found = self._authorization(order.refresh_hash or order.key_id)
        if found is None or found.client_hash != order.client_hash:
            return KeysEnded(())
        return KeysEnded((yield from self._end_authorized(found, order.revoked, "client")))

    def _end_authorized(self, found: Authorization, record: AuditRecord, why: str) -> Steps[tuple[Key, ...]]:
        key = self._key(found.key_id)
        if key is None or key.revoked_ms is not None:
            return () if key is None else (key,)
        record = replace(_by(found, record), target_id=key.id, changes=json.dumps({"reason": why}))
        return (yield from self._end(self._family(key), record))

    def _key_of(self, found: Authorization) -> Key | None:
        """The key that a client may refresh: one that its owner neither revoked nor rotated, and that has not ended."""
        key = self._key(found.key_id)
        return key if key is not None and key.successor_id is None and is_live(key, self._now_ms) else None

    def _with_text(self, found: Authorization, key: Key, text: FreshText) -> Authorization:
        ends_ms = self._now_ms + KEPT_MS if key.expires_ms is None else key.expires_ms
        return replace(found, secret_hash=text.secret_hash, used_ms=self._now_ms, expires_ms=ends_ms)

    def _text_end_ms(self, key_ends_ms: int | None) -> int:
        end_ms = self._now_ms + self._rules.access_life_ms
        return end_ms if key_ends_ms is None else min(end_ms, key_ends_ms)

    def _no_room(self, tenant_id: str) -> Refused | None:
        most = self._rules.scoped_keys_per_account
        return self._key_limit(most, "scoped") if self._live_keys(tenant_id, scoped=True) >= most else None


def _waits(authorization: Authorization | None) -> bool:
    """Whether its code was not exchanged yet."""
    return authorization is not None and authorization.key_id is None


def _by(found: Authorization, record: AuditRecord) -> AuditRecord:
    """A record in the name of the session that allowed the client what it did."""
    return replace(record, actor_id=found.session_id, actor_email=found.email)


def _no_grant(why: str) -> Refused:
    return Refused(Code.INVALID_GRANT, why)


def _other_resource() -> Refused:
    return Refused(Code.INVALID_TARGET, "The resource is not the one of the authorization request.")
