"""Wire models of the catalog (specification, "Use case", "Bot template"). Imports are validated by the same models.

Fields have generous bounds for human input; `document_of` limits the whole entry.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from actors.catalog.messages import Kind
from service.schemas.fields import Milliseconds, MillisecondsIn, Strict, absent, optional
from service.schemas.texts import READABLE, Line, Sentence, Text
from service.schemas.urls import Url

DOCUMENT_BYTES = 64 * 1024

_SLUG = "[a-z0-9]+(-[a-z0-9]+)*"
_SLUG_CHARACTERS = 100
Slug = Annotated[str, Field(min_length=1, max_length=_SLUG_CHARACTERS, pattern=f"^{_SLUG}$")]
Prompt = Annotated[str, Field(min_length=1, max_length=20_000), READABLE]


class Value(Strict):
    """An inspiration value in USD: reported by a creator or an illustrative assumption, never a promise of earnings."""

    amount: Line = Field(description="Amount in USD, as text")
    label: Line = Field(description="Meaning of the amount, such as a month")
    basis: Sentence = Field(description="Source of the amount")
    kind: Literal["reported", "illustrative"] = Field(
        description="Whether a creator reported it or it is an illustration"
    )


class Guide(Strict):
    """Instructions for repeating a use case."""

    title: Line = Field(description="Title of the guide")
    category: Line = Field(description="Category, such as Finance")
    opportunity: Text = Field(description="Possible gain")
    audience: Sentence = Field(description="People for whom it is")
    platforms: Annotated[list[Line], Field(max_length=30)] = Field(description="Programs and services that it uses")
    botSlugs: Annotated[list[Slug], Field(max_length=50)] = Field(description="Slugs of bot templates that help")
    steps: Annotated[list[Sentence], Field(max_length=50)] = Field(description="Steps to take, in order")
    prompt: Prompt = Field(description="Prompt to start a bot with")
    value: Value | None = Field(default=None, description="Possible value; absent if unknown")


ADDED = "Epoch milliseconds at which it was added, which order the list. Absent: those of the present entry, or now"
RETIRED = "Epoch milliseconds at which it was retired; absent if it is served"
UPDATED = "Epoch milliseconds of the last change of its content. Read-only: ignored in a request"


class UseCaseBody(Strict):
    """A use case as administrators write it."""

    slug: Slug | None = absent("The slug of the path; may be absent")
    title: Line = Field(description="Title of the use case")
    who: Line = Field(description="Who ran the use case")
    handle: Line = Field(description="Public handle of the operator")
    roi: Sentence = Field(description="Reported outcome or return")
    sourceUrl: Url = Field(description="Public source for the claim")
    addedAt: MillisecondsIn | None = absent(ADDED)
    guide: Guide | None = Field(default=None, description="Instructions for repeating it; absent if there are none")
    updatedAt: MillisecondsIn | None = absent(UPDATED)


class BotBody(Strict):
    """A bot template as administrators write it."""

    slug: Slug | None = absent("The slug of the path; may be absent")
    name: Line = Field(description="Name of the bot")
    category: Line | None = Field(default=None, description="Directory category")
    who: Line = Field(description="Who runs the bot")
    handle: Line = Field(description="Public handle of the operator")
    job: Text = Field(description="What the bot does")
    templateUrl: Url = Field(description="Public template link")
    addedAt: MillisecondsIn | None = absent(ADDED)
    updatedAt: MillisecondsIn | None = absent(UPDATED)


class UseCaseEntry(UseCaseBody):
    """A use case as an import has it and the catalog stores it."""

    slug: Slug = Field(description="Stable identifier")
    addedAt: MillisecondsIn


class BotEntry(BotBody):
    """A bot template as an import has it and the catalog stores it."""

    slug: Slug = Field(description="Stable identifier")
    addedAt: MillisecondsIn


BODIES: Mapping[Kind, type[UseCaseBody] | type[BotBody]] = {Kind.USECASES: UseCaseBody, Kind.BOTS: BotBody}


class UseCase(UseCaseEntry):
    """A curated use case."""

    slug: Slug = Field(description="Stable identifier used in the path /api/v1/usecases/{slug}")
    updatedAt: Milliseconds = Field(description="Epoch milliseconds of the last change of its content")


class Bot(BotEntry):
    """A bot template."""

    slug: Slug = Field(description="Identifier used in /api/v1/bots/{slug}")
    updatedAt: Milliseconds = Field(description="Epoch milliseconds of the last change of its content")


class UseCasePage(BaseModel):
    """Use cases. `nextCursor` is null on the last page and for a search."""

    data: list[UseCase] = Field(description="Use cases of this page")
    nextCursor: str | None = Field(description="For the next page; null on the last one and for a search")


class BotPage(BaseModel):
    """Bot templates. `nextCursor` is null on the last page and for a search."""

    data: list[Bot] = Field(description="Bot templates of this page")
    nextCursor: str | None = Field(description="For the next page; null on the last one and for a search")


class UseCaseAnswer(BaseModel):
    """A use case as it is stored."""

    useCase: UseCase = Field(description="The use case")
    retiredAt: Milliseconds | None = optional(RETIRED)


class BotAnswer(BaseModel):
    """A bot template as it is stored."""

    bot: Bot = Field(description="The bot template")
    retiredAt: Milliseconds | None = optional(RETIRED)


class CatalogChange(BaseModel):
    """The newest change of an entry. A removed entry that comes back is added."""

    kind: Literal["usecases", "bots"] = Field(description="The list of the entry")
    slug: str = Field(description="Slug of the entry")
    change: Literal["added", "updated", "removed"] = Field(description="What happened to it")
    at: Milliseconds = Field(description="Epoch milliseconds of the change: `updatedAt` of an entry that exists")


class ChangePage(BaseModel):
    """Changes, oldest first. Each entry occurs once, with its newest change."""

    data: list[CatalogChange] = Field(description="Changes of this page, oldest first")
    nextCursor: str = Field(description="For what comes next: on the last page, for the changes that are still to come")


class Related(BaseModel):
    """An entry with words like those of another one of its list."""

    slug: str = Field(description="Slug of the entry, for this tool")
    title: str = Field(description="Title of a use case, or name of a bot template")


class Category(BaseModel):
    """A category with the number of its use cases and bot templates."""

    name: str = Field(description="Name of the category, for `category` of both lists")
    useCases: Annotated[int, Field(ge=0)] = Field(description="Number of its use cases")
    bots: Annotated[int, Field(ge=0)] = Field(description="Number of its bot templates")


class CategoryList(BaseModel):
    """The categories by name; at most 1,000, those with most entries."""

    data: list[Category] = Field(description="Categories by name")


def is_slug(text: str) -> bool:
    return len(text) <= _SLUG_CHARACTERS and re.fullmatch(_SLUG, text) is not None


def document_of(entry: UseCaseEntry | BotEntry) -> bytes:
    """The canonical JSON of an entry, which is stored and compared. Unset fields are absent, and so is `updatedAt`.

    Raises `ValueError` if it is larger than 64 KiB.
    """
    document = entry.model_dump_json(exclude_none=True, exclude={"updatedAt"}).encode()
    if len(document) > DOCUMENT_BYTES:
        raise ValueError(f"is larger than {DOCUMENT_BYTES // 1024} KiB")
    return document
