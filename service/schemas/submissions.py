"""Wire models of submissions: entries and edits that accounts propose for the catalog, and their review."""

import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    Field,
    GetJsonSchemaHandler,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_core import CoreSchema, PydanticCustomError

from actors.catalog.messages import Kind
from actors.catalog.submissions import Submission as Row
from actors.catalog.submissions import SubmissionView
from service.schemas.catalog import BODIES, BotBody, BotEntry, Slug, UseCaseBody, UseCaseEntry
from service.schemas.fields import Milliseconds, Strict, absent, optional
from service.schemas.lists import SEARCH_READS, Choice, FreeText, Page, SearchText, SponsorshipQuery, choice
from service.schemas.rows import filled
from service.schemas.texts import Note, mixed_words

Status = Literal["pending", "accepted", "declined"]
KindName = Literal["usecases", "bots"]

ENTRY = TypeAdapter[UseCaseEntry | BotEntry](UseCaseEntry | BotEntry)


@dataclass(frozen=True, slots=True)
class _Entry:
    """Documents a stored entry as one of either kind. It was checked when it was proposed."""

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return handler(ENTRY.core_schema)


StoredEntry = Annotated[dict[str, Any], _Entry()]


class SubmissionBody(Strict):
    """An entry that you propose for the catalog, or an edit of one."""

    kind: KindName = Field(description="List of the catalog")
    slug: Slug | None = absent("To propose an edit: the slug of the entry")
    entry: UseCaseBody | BotBody = Field(
        description="The whole entry, of the kind that you name. A new one needs a `slug`. `addedAt` is not used: a new "
        "entry gets the time of its acceptance, an edited one keeps its own"
    )

    @field_validator("entry", mode="plain", json_schema_input_type=UseCaseBody | BotBody)
    @classmethod
    def _of_its_kind(cls, value: Any, info: ValidationInfo) -> Any:
        """Check the entry by the model of its kind, whose errors then stand at `entry.title`."""
        kind = info.data.get("kind")
        if kind is None:
            return value
        entry = BODIES[Kind(kind)].model_validate(value)
        slug = info.data.get("slug", entry.slug)
        if entry.slug is None and slug is None:
            raise _at_slug("missing", value)
        if None not in (entry.slug, slug) and entry.slug != slug:
            raise _at_slug(PydanticCustomError("value_error", "must be that of the entry that you edit"), value)
        return entry


def _at_slug(kind: str | PydanticCustomError, value: object) -> ValidationError:
    return ValidationError.from_exception_data("slug", [{"type": kind, "loc": ("slug",), "input": value}])


class SubmissionReview(Strict):
    """An administrator's decision on a submission."""

    decision: Literal["accept", "decline"] = Field(description="Decision on the submission")
    note: Annotated[Note | None, Field(validate_default=True)] = Field(
        default=None, description="Note for the account; required to decline"
    )
    seen: Annotated[str, Field(min_length=1, max_length=100)] = Field(
        description="The `version` of the submission that you reviewed"
    )

    @field_validator("note")
    @classmethod
    def _reason(cls, note: str | None, info: ValidationInfo) -> str | None:
        if note is None and info.data.get("decision") == "decline":
            raise ValueError("is required to decline, with the reason")
        return note


class Submission(BaseModel):
    """An entry that an account has proposed for the catalog, or an edit of one."""

    id: str = Field(description="Id of the submission")
    kind: KindName = Field(description="List of the catalog")
    slug: str = Field(description="Slug of the entry")
    edit: bool = Field(description="Whether it is an edit of an entry that the catalog had")
    entry: StoredEntry = Field(description="The entry as it was proposed")
    status: Status = Field(description="`accepted` entries are in the catalog")
    createdAt: Milliseconds
    note: str | None = optional("The administrator's note of the review")
    decidedAt: Milliseconds | None = optional("When it was accepted or declined, in epoch milliseconds")

    @classmethod
    def of(cls, row: Row) -> "Submission":
        return filled(cls, row, edit=row.base is not None, entry=_entry(row))


class SubmissionForReview(Submission):
    """A submission as administrators see it."""

    version: str = Field(description="Identifies what you see: this submission and `current`. Send it as `seen`")
    email: str | None = optional("Email of the account; absent if it has been deleted")
    base: StoredEntry | None = optional("The entry that it edits, as it was when the edit was proposed")
    current: StoredEntry | None = optional("The entry that the catalog has under this slug now")
    outdated: Literal["taken", "changed", "retired"] | None = optional(
        "Why it cannot be accepted: the slug of a new entry is `taken`, or the entry has been `changed` or `retired` since"
    )
    mixedWords: list[str] | None = optional("Words that mix Latin, Cyrillic, Greek or other letters that look alike")

    @classmethod
    def for_review(cls, view: SubmissionView) -> "SubmissionForReview":
        row, current = view.submission, view.current
        entry = _entry(row)
        return filled(
            cls,
            row,
            view,
            edit=row.base is not None,
            entry=entry,
            version=row.version(current),
            base=None if row.base is None else json.loads(row.base),
            current=None if current is None else json.loads(current),
            outdated=row.outdated(current) if row.waits else None,
            mixedWords=mixed_words(_texts(entry)) or None,
        )


class SubmissionAnswer(BaseModel):
    """One submission."""

    submission: Submission = Field(description="The submission")


class SubmissionPage(Page):
    """Submissions, newest first."""

    items: list[Submission] = Field(description="Submissions of this page")


class SubmissionReviewPage(Page):
    """Submissions of all accounts."""

    items: list[SubmissionForReview] = Field(description="Submissions of this page")


class SubmissionsQuery(SponsorshipQuery):
    """Query of the administrators' list of submissions."""

    status: Choice[Status] = choice("Only submissions with this status")
    order: Choice[Literal["newest", "oldest"]] = choice("Sort order; newest first by default")
    query: FreeText[SearchText] = Field(
        default=None,
        description=f"The id of a submission, the email of its account, or a part of its slug or title. {SEARCH_READS}",
    )


def _entry(row: Row) -> dict[str, Any]:
    """The proposed entry with a time: that of the entry that it edits, or of the submission."""
    entry: dict[str, Any] = json.loads(row.entry)
    added_ms = row.created_ms if row.base is None else json.loads(row.base)["addedAt"]
    return entry | {"addedAt": added_ms}


def _texts(value: Any) -> list[str]:
    """All texts within an entry."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [text for each in value for text in _texts(each)]
    return [value] if isinstance(value, str) else []
