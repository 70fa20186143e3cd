"""Wire models of a whole account: its export and its deletion."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field

from service.schemas.fields import Milliseconds, Query, Strict, optional
from service.schemas.lists import Cursor, whole_number

EXPORT_ROWS = 1_000


class ExportQuery(Query):
    """Query of an export."""

    cursor: Cursor = None
    limit: Annotated[
        Annotated[int, Field(ge=1, le=EXPORT_ROWS)],
        BeforeValidator(whole_number),
        Field(description="Most rows of a page"),
    ] = EXPORT_ROWS


class AccountExport(BaseModel):
    """A page of all rows that are stored about an account."""

    email: str = Field(description="Email address of the account, in lower case")
    exportedAt: Milliseconds
    tables: dict[str, list[dict[str, Any]]] = Field(
        description="The account's rows by table, with the columns of the database. Times are epoch milliseconds, days "
        "are counted from 1970-01-01 UTC. Keys, codes and their hashes are left out."
    )
    cursor: str | None = Field(description="For the next page; null on the last one")
    hasMore: bool = Field(description="Whether there is another page")


class DeletionCodeSent(BaseModel):
    """The code that confirms the deletion is on its way."""

    sent: Literal[True] = Field(description="Always true")


class DeletionConfirm(Strict):
    """The code from the mail that confirms the deletion."""

    code: Annotated[str, Field(min_length=4, max_length=64)] = Field(description="The code of the mail")


class AccountDeletion(BaseModel):
    """Whether the account is going to be deleted."""

    scheduled: bool = Field(description="Whether the deletion is confirmed and has not happened yet")
    deletesAt: Milliseconds | None = optional("Epoch milliseconds; until then the deletion can be undone")


class DeletionUndone(BaseModel):
    """The account stays."""

    undone: Literal[True] = Field(description="Always true")
