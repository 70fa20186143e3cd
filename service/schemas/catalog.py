"""Wire models of the catalog (specification, "Use case", "Bot template"). Imports are validated by the same models.

Fields have generous bounds for human input; `document_of` limits the whole entry.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from service.schemas.fields import MillisecondsIn, Strict
from service.schemas.texts import READABLE, Line, Sentence, Text
from service.schemas.urls import Url

DOCUMENT_BYTES = 64 * 1024

Slug = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
Prompt = Annotated[str, Field(min_length=1, max_length=20_000), READABLE]


class Value(Strict):
    """An inspiration value in USD: reported by a creator or an illustrative assumption, never a promise of earnings."""

    amount: Line
    label: Line
    basis: Sentence
    kind: Literal["reported", "illustrative"]


class Guide(Strict):
    """Instructions for repeating a use case."""

    title: Line
    category: Line
    opportunity: Text
    audience: Sentence
    platforms: Annotated[list[Line], Field(max_length=30)]
    botSlugs: Annotated[list[Slug], Field(max_length=50)]
    steps: Annotated[list[Sentence], Field(max_length=50)]
    prompt: Prompt
    value: Value | None = None


class UseCase(Strict):
    """A curated use case."""

    slug: Slug = Field(description="Stable identifier used in the path /api/v1/usecases/{slug}")
    title: Line
    who: Line = Field(description="Who ran the use case")
    handle: Line = Field(description="Public handle of the operator")
    roi: Sentence = Field(description="Reported outcome or return")
    sourceUrl: Url = Field(description="Public source for the claim")
    addedAt: MillisecondsIn
    guide: Guide | None = None


class Bot(Strict):
    """A bot template."""

    slug: Slug = Field(description="Identifier used in /api/v1/bots/{slug}")
    name: Line
    category: Line | None = Field(default=None, description="Directory category")
    who: Line = Field(description="Who runs the bot")
    handle: Line = Field(description="Public handle of the operator")
    job: Text = Field(description="What the bot does")
    templateUrl: Url = Field(description="Public template link")
    addedAt: MillisecondsIn


class UseCasePage(BaseModel):
    """Use cases. `nextCursor` is null on the last page and for a search."""

    data: list[UseCase]
    nextCursor: str | None


class BotPage(BaseModel):
    """Bot templates. `nextCursor` is null on the last page and for a search."""

    data: list[Bot]
    nextCursor: str | None


class Category(BaseModel):
    """A category with the number of its use cases and bot templates."""

    name: str
    useCases: Annotated[int, Field(ge=0)]
    bots: Annotated[int, Field(ge=0)]


class CategoryList(BaseModel):
    """The categories by name; at most 1,000, those with most entries."""

    data: list[Category]


def document_of(entry: UseCase | Bot) -> bytes:
    """The canonical JSON of an entry, which is stored, compared and served. Unset fields are absent.

    Raises `ValueError` if it is larger than 64 KiB.
    """
    document = entry.model_dump_json(exclude_none=True).encode()
    if len(document) > DOCUMENT_BYTES:
        raise ValueError(f"is larger than {DOCUMENT_BYTES // 1024} KiB")
    return document
