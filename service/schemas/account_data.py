"""Wire models of a whole account: its export and its deletion."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field

from service.schemas.fields import Milliseconds, Strict, optional
from service.schemas.lists import Cursor, whole_number

EXPORT_ROWS = 1_000


class ExportQuery(BaseModel):
    """Query of an export."""

    cursor: Cursor = None
    limit: Annotated[
        int, BeforeValidator(whole_number), Field(ge=1, le=EXPORT_ROWS, description="Most rows of a page")
    ] = EXPORT_ROWS


class AccountExport(BaseModel):
    """A page of all rows that are stored about an account."""

    email: str
    exportedAt: Milliseconds
    tables: dict[str, list[dict[str, Any]]] = Field(
        description="The account's rows by table, with the columns of the database. Times are epoch milliseconds, days "
        "are counted from 1970-01-01 UTC. Keys, codes and their hashes are left out."
    )
    cursor: str | None = Field(description="For the next page; null on the last one")
    hasMore: bool


class DeletionCodeSent(BaseModel):
    sent: Literal[True]


class DeletionConfirm(Strict):
    """The code from the mail that confirms the deletion."""

    code: Annotated[str, Field(min_length=4, max_length=64)]


class AccountDeletion(BaseModel):
    """Whether the account is going to be deleted."""

    scheduled: bool
    deletesAt: int | None = optional("Epoch milliseconds; until then the deletion can be undone")


class DeletionUndone(BaseModel):
    undone: Literal[True]
