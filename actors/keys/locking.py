"""The rows that a batch of the key actor locks. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from actors.keys.authorizations import Authorization, Authorize, EndAuthorization, ExchangeCode, RefreshText
from actors.keys.exposures import EndExposed
from actors.keys.messages import (
    BootstrapAdmins,
    ByAccount,
    ByKey,
    CompleteClaim,
    EditKey,
    EndKeys,
    GrantAdmin,
    Issue,
    Message,
    Mint,
    Restore,
    Revoke,
    RevokeAdmin,
    RotateKey,
    SendEndNotices,
    SetTier,
    StartClaim,
    Suspend,
)


@dataclass(frozen=True, slots=True)
class LockSet:
    """The rows that a batch needs. The store follows claims to keys, and keys and accounts to tenants.

    `admin_emails` are the emails whose membership is read. `membership` means that the batch changes administrators,
    which only one batch may do at a time. `families` are keys that are locked with the live keys of their tenant, among
    which are those that they granted, directly or through others; `owners` are accounts of which all live keys are locked.
    With live keys the last ones are locked that ended at most `CLOCKS_DIFFER_MS` ago.
    `session_ids` are sessions that grant, and `claimants` the emails that claim. `hashes` are keys by their text, which are
    locked as `families` are, with the emails of their tenants. Authorizations are locked by the hash of their code, by that
    of their refresh tokens, by their key, or by id; the store follows them to emails, sessions and keys. Of `code_emails` it
    counts the open codes.
    """

    token_hashes: tuple[bytes, ...] = ()
    key_ids: tuple[str, ...] = ()
    emails: tuple[str, ...] = ()
    admin_emails: tuple[str, ...] = ()
    membership: bool = False
    code_mail_ids: tuple[bytes, ...] = ()
    families: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    session_ids: tuple[str, ...] = ()
    claimants: tuple[str, ...] = ()
    hashes: tuple[bytes, ...] = ()
    code_hashes: tuple[bytes, ...] = ()
    refresh_hashes: tuple[bytes, ...] = ()
    authorized_keys: tuple[str, ...] = ()
    code_emails: tuple[str, ...] = ()
    authorization_ids: tuple[str, ...] = ()

    def following(self, found: Iterable[Authorization]) -> "LockSet":
        """The set with the accounts and sessions of authorizations, and their keys with those that these granted."""
        several = list(found)
        return replace(
            self,
            emails=_with(self.emails, (each.email for each in several)),
            session_ids=_with(self.session_ids, (each.session_id for each in several)),
            families=_with(self.families, (each.key_id for each in several)),
        )


def rows_to_lock(messages: Sequence[Message]) -> LockSet:
    """The rows to lock for a batch, sorted, so that two nodes lock them in the same order."""
    rows: defaultdict[str, set[Any]] = defaultdict(set)
    for message in messages:
        match message:
            case StartClaim(token_hash=token_hash, draft=draft):
                rows["token_hashes"].add(token_hash)
                rows["code_mail_ids"].update(draft.count_ids)
            case CompleteClaim(token_hash=token_hash, email=email, network_id=network_id):
                rows["token_hashes"].add(token_hash)
                rows["code_mail_ids"].add(network_id)
                rows["emails"].add(email)
                rows["claimants"].add(email)
            case Issue(key=key, email=email, granted_by=granter):
                rows["emails"].add(email)
                rows["key_ids"].add(key.id)
                if granter is not None or key.admin:
                    rows["admin_emails"].add(email)
                if isinstance(granter, ByKey):
                    rows["key_ids"].add(granter.key_id)
            case EditKey(email=email) | RotateKey(email=email):
                rows["emails"].add(email)
                rows["owners"].add(email)
                rows["admin_emails"].add(email)
                rows["key_ids"].add(message.key_id)
                if isinstance(message, RotateKey):
                    rows["key_ids"].add(message.fresh_id)
            case SendEndNotices(notices=notices):
                rows["key_ids"].update(each.key_id for each in notices)
                rows["emails"].update(each.email for each in notices)
            case SetTier(email=email):
                rows["emails"].add(email)
            case Revoke(key_id=key_id):
                rows["families"].add(key_id)
            case EndExposed(found=found):
                rows["hashes"].update(each.hash for each in found)
            case EndKeys(email=email):
                rows["emails"].add(email)
                rows["owners"].add(email)
            case Suspend(email=email) | Restore(email=email) | GrantAdmin(email=email) | RevokeAdmin(email=email):
                rows["emails"].add(email)
                rows["admin_emails"].add(email)
            case BootstrapAdmins(emails=several):
                rows["emails"].update(several)
                rows["admin_emails"].update(several)
            case Authorize(authorization=asked):
                rows["emails"].add(asked.email)
                rows["code_emails"].add(asked.email)
                rows["authorization_ids"].add(asked.id)
            case ExchangeCode(code_hash=code_hash):
                rows["code_hashes"].add(code_hash)
            case RefreshText(text=text):
                rows["refresh_hashes"].add(text.refresh_hash)
            case EndAuthorization(refresh_hash=refresh_hash, key_id=key_id):
                rows["refresh_hashes"].update(filter(None, [refresh_hash]))
                rows["authorized_keys"].update(filter(None, [key_id]))
            case Mint():
                pass
    rows["session_ids"] = _sessions(messages)
    membership = any(isinstance(message, GrantAdmin | RevokeAdmin | BootstrapAdmins) for message in messages)
    return LockSet(**{name: tuple(sorted(ids)) for name, ids in rows.items()}, membership=membership)


def _sessions(messages: Sequence[Message]) -> set[str]:
    """The sessions that grant, change or rotate keys, or allow clients something."""
    granters = [each.granted_by for each in messages if isinstance(each, Issue)]
    granters += [each.by for each in messages if isinstance(each, EditKey | RotateKey)]
    allowing = {each.authorization.session_id for each in messages if isinstance(each, Authorize)}
    return allowing | {each.session_id for each in granters if isinstance(each, ByAccount)}


def _with(ids: tuple[str, ...], more: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(sorted({*ids, *filter(None, more)}))
