"""The rows that a batch of the key keeper locks. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from actors.keys.membership import BootstrapAdmins, GrantAdmin, Restore, RevokeAdmin, Suspend
from actors.keys.messages import (
    ByAccount,
    ByKey,
    CompleteClaim,
    EditKey,
    EndKeys,
    Issue,
    Message,
    Mint,
    Revoke,
    RotateKey,
    SendEndNotices,
    SetTier,
    StartClaim,
)

R = TypeVar("R", str, bytes)


@dataclass(frozen=True, slots=True)
class LockSet:
    """The rows that a batch needs. The store follows claims to keys, and keys and accounts to tenants.

    `admin_emails` are the emails whose membership is read. `membership` means that the batch changes administrators,
    which only one batch may do at a time. `families` are keys that are locked with all keys that they granted, directly
    or through others; `owners` are accounts of which all keys are locked. Keys of neither are locked that were
    revoked, or rotated and ended more than `CLOCKS_DIFFER_MS` ago.
    `session_ids` are sessions that grant, and `claimants` the emails that claim.
    """

    token_hashes: tuple[bytes, ...]
    key_ids: tuple[str, ...]
    emails: tuple[str, ...]
    admin_emails: tuple[str, ...] = ()
    membership: bool = False
    code_mail_ids: tuple[bytes, ...] = ()
    families: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    session_ids: tuple[str, ...] = ()
    claimants: tuple[str, ...] = ()


def rows_to_lock(messages: Sequence[Message]) -> LockSet:
    """The rows to lock for a batch, sorted, so that two nodes lock them in the same order."""
    token_hashes: set[bytes] = set()
    key_ids: set[str] = set()
    emails: set[str] = set()
    admin_emails: set[str] = set()
    code_mail_ids: set[bytes] = set()
    membership = False
    families: set[str] = set()
    owners: set[str] = set()
    claimants: set[str] = set()
    for message in messages:
        match message:
            case StartClaim(token_hash=token_hash, draft=draft):
                token_hashes.add(token_hash)
                code_mail_ids.update(draft.count_ids)
            case CompleteClaim(token_hash=token_hash, email=email, network_id=network_id):
                token_hashes.add(token_hash)
                code_mail_ids.add(network_id)
                emails.add(email)
                claimants.add(email)
            case Issue(key=key, email=email, granted_by=granter):
                emails.add(email)
                key_ids.add(key.id)
                if granter is not None or key.admin:
                    admin_emails.add(email)
                if isinstance(granter, ByKey):
                    key_ids.add(granter.key_id)
            case EditKey(email=email) | RotateKey(email=email):
                emails.add(email)
                owners.add(email)
                admin_emails.add(email)
                if isinstance(message, RotateKey):
                    key_ids.add(message.fresh_id)
            case SendEndNotices(notices=notices):
                key_ids.update(each.key_id for each in notices)
                emails.update(each.email for each in notices)
            case SetTier(email=email):
                emails.add(email)
            case Revoke(key_id=key_id):
                families.add(key_id)
            case EndKeys(email=email):
                emails.add(email)
                owners.add(email)
            case Suspend(email=email) | Restore(email=email):
                emails.add(email)
                admin_emails.add(email)
            case GrantAdmin(email=email) | RevokeAdmin(email=email):
                emails.add(email)
                admin_emails.add(email)
                membership = True
            case BootstrapAdmins(emails=several):
                emails.update(several)
                admin_emails.update(several)
                membership = True
            case Mint():
                pass
    return LockSet(
        token_hashes=_ordered(token_hashes),
        key_ids=_ordered(key_ids),
        emails=_ordered(emails),
        admin_emails=_ordered(admin_emails),
        membership=membership,
        code_mail_ids=_ordered(code_mail_ids),
        families=_ordered(families),
        owners=_ordered(owners),
        session_ids=_ordered(_sessions(messages)),
        claimants=_ordered(claimants),
    )


def _sessions(messages: Sequence[Message]) -> set[str]:
    """The sessions that grant, change or rotate keys."""
    granters = [each.granted_by for each in messages if isinstance(each, Issue)]
    granters += [each.by for each in messages if isinstance(each, EditKey | RotateKey)]
    return {each.session_id for each in granters if isinstance(each, ByAccount)}


def _ordered(rows: set[R]) -> tuple[R, ...]:
    return tuple(sorted(rows))
