"""The search index over the catalog, in memory. `tantivy` holds the words.

Equal entries give an equal order, whichever edits led to them. Ranks are therefore sums of whole numbers, each made of how
many present entries have a word and of the field in which it stands. They depend on nothing that the index keeps of removed
entries, nor on the order in which entries came. Equal ranks go by time of adding, newest first, then by slug.

A search runs on the state after one `apply`. All methods may run in threads, `apply` in one at a time.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from operator import length_hint
from time import monotonic
from typing import Any, NamedTuple, TypeVar

from pydantic_core import from_json
from tantivy import Document, Filter, Index, Schema, SchemaBuilder, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from actors.catalog.documents import category_of, title_of
from actors.catalog.messages import Entry, Kind
from service.snapshots.search_query import ALL, TITLE, TOPIC, Found, Search, State
from service.snapshots.search_terms import asked, synonyms_of
from service.snapshots.search_text import Reader, Stem

T = TypeVar("T")

LONGEST_STEM_BYTES = 120
HEAP_BYTES, LARGE_HEAP_BYTES, LARGE = 15_000_000, 60_000_000, 5_000
"""The buffer of a change: the least that tantivy takes, and more for a change of so many entries."""

STRETCH_SECONDS = 0.003
"""How long a change indexes before it gives way to the event loop. tantivy releases the interpreter lock for each document,
and has it again before a waiting thread wakes up, which then waits anew: a tenth of a second and more."""

WEEK_MS, FIRST_WEEK_MS, WEEKS = 7 * 86_400_000, 1_577_836_800_000, 1_024
"""Within equal ranks, newer weeks are read first: 1,024 weeks from 2020. Earlier and later times count as the first and the
last of them."""


def stemmer() -> TextAnalyzer:
    """The analyzer that stems a word. Entries and searches pass through it before they reach the index, which takes stems."""
    words = TextAnalyzerBuilder(Tokenizer.whitespace())
    return words.filter(Filter.stemmer("english")).filter(Filter.remove_long(LONGEST_STEM_BYTES)).build()


class Texts(NamedTuple):
    """The texts of an entry that are searched: its title or name, what it is about, and the rest."""

    title: str
    about: Sequence[str]
    rest: Sequence[str]
    category: str | None


def texts_of(document: bytes) -> Texts:
    entry: dict[str, Any] = from_json(document)
    guide: dict[str, Any] = entry.get("guide") or {}
    category = guide.get("category") or entry.get("category")
    value: dict[str, Any] = guide.get("value") or {}
    about = (category, entry.get("job"), guide.get("title"))
    rest = [entry.get("roi"), entry.get("who"), entry.get("handle")]
    rest += (guide.get("opportunity"), guide.get("audience"), guide.get("prompt"))
    rest += (value.get("amount"), value.get("label"), value.get("basis"))
    rest += guide.get("platforms", ())
    rest += guide.get("steps", ())
    title = entry.get("title") or entry.get("name") or ""
    return Texts(title, list(filter(None, about)), list(filter(None, rest)), category)


class SearchIndex:
    """The searchable words of both lists. `synonyms` has groups of words or phrases that mean the same."""

    def __init__(self, synonyms: Iterable[Sequence[str]] = (), give_way: Callable[[], object] = lambda: None) -> None:
        self._analyzer = stemmer()
        self._synonyms = synonyms_of(synonyms, self._stem)
        self._lists = {kind: _List(self._stem, give_way) for kind in Kind}

    def apply(self, kind: Kind, saved: Iterable[Entry], removed: Iterable[str], *, brief: bool = False) -> None:
        """Add or replace the entries `saved` by slug, and remove those with the slugs `removed`. Searches see all of it or
        nothing. Takes milliseconds for a few entries, and about ten seconds for 100,000; a fifth of it if `brief`: the
        entries are then found by their titles only, until they are saved again. Calls `give_way` every few milliseconds."""
        self._lists[kind].apply(saved if brief else list(saved), list(removed), brief)

    def search(self, kind: Kind, q: str, limit: int, category: str | None = None) -> Found:
        """The slugs of at most `limit` entries that match `q`, best first; of one `category` if it is given, spelled as in
        its entries.

        All words must occur in an entry, wherever it has them. If no entry has them all, and `q` has no phrase and excludes
        nothing, those with most and with the rarest of them are found: `relaxed`. The last word may be unfinished, others
        misspelled. Every text is valid; one without words finds nothing.
        """
        return Search(self._lists[kind].state, self._stem, category).found(asked(q, self._stem, self._synonyms), limit)

    def related(self, kind: Kind, slug: str, document: bytes, limit: int) -> tuple[str, ...]:
        """The slugs of at most `limit` other entries of the kind that are about the same as the entry `slug` with this
        `document`, nearest first. Empty if none is near."""
        texts = texts_of(document)
        terms = [asked(text, self._stem, {}).words for text in (texts.title, *texts.about)]
        words = [each for many in terms for each in many]
        return Search(self._lists[kind].state, self._stem).related(slug, words, limit, texts.category)

    def __len__(self) -> int:
        return sum(each.state.entries for each in self._lists.values())

    def _stem(self, word: str) -> str:
        stems = self._analyzer.analyze(word)
        return stems[0] if stems else ""


@cache
def _schema() -> Schema:
    made = SchemaBuilder()
    for name in (ALL, TITLE, TOPIC):
        made.add_text_field(name, tokenizer_name="whitespace", index_option="position")
    for name in ("slug", "category"):
        made.add_text_field(name, stored=name == "slug", tokenizer_name="raw", index_option="basic")
    made.add_integer_field("added", fast=True)
    made.add_float_field("week", fast=True)
    return made.build()


class _List:
    """The index of one kind."""

    def __init__(self, stem: Stem, give_way: Callable[[], object]) -> None:
        self._stem, self._give_way = stem, give_way
        self._index = Index(_schema())
        self._index.config_reader("manual")
        self.state = self._read()

    def _read(self) -> State:
        self._index.reload()
        return State(_schema(), self._index.searcher())

    def apply(self, saved: Iterable[Entry], removed: Sequence[str], brief: bool) -> None:
        if not saved and not removed:
            return
        # A writer lives for one change, because it keeps threads and buffers.
        large = brief or length_hint(saved) >= LARGE
        writer = self._index.writer(LARGE_HEAP_BYTES if large else HEAP_BYTES, 1)
        reader, replaces = Reader(self._stem), self.state.entries > 0
        for slug in self._giving_way(removed):
            writer.delete_documents_by_term("slug", slug)
        for entry in self._giving_way(saved):
            if replaces:
                writer.delete_documents_by_term("slug", entry.slug)
            writer.add_document(_document(reader, entry, brief))
        writer.commit()
        self.state = self._read()
        writer.wait_merging_threads()
        self.state = self._read()

    def _giving_way(self, items: Iterable[T]) -> Iterator[T]:
        began = monotonic()
        for item in items:
            yield item
            if monotonic() - began >= STRETCH_SECONDS:
                self._give_way()
                began = monotonic()


def brief_texts_of(document: bytes) -> Texts:
    return Texts(title_of(document), (), (), category_of(document))


def _document(reader: Reader, entry: Entry, brief: bool) -> Document:
    made = Document()
    texts = (brief_texts_of if brief else texts_of)(entry.document)
    title = reader.words_of(texts.title)
    about, rest = list(map(reader.words_of, texts.about)), list(map(reader.words_of, texts.rest))
    for name, many in ((TITLE, (title,)), (TOPIC, about), (ALL, (title, *about, *rest))):
        for words in many:
            # Values of a field are apart, so that phrases do not reach from one to the next.
            made.add_text(name, words.order)
            if words.beside:
                made.add_text(name, words.beside)
    made.add_text("slug", entry.slug)
    if texts.category is not None:
        made.add_text("category", texts.category)
    made.add_integer("added", entry.added_ms)
    made.add_float("week", _week_weight(entry.added_ms))
    return made


def _week_weight(added_ms: int) -> float:
    """The value by which tantivy multiplies a score s so that it stays below s + 1, and higher in a later week."""
    week = min(max((added_ms - FIRST_WEEK_MS) // WEEK_MS, 0), WEEKS - 1)
    return float(2 ** (1 + week * 2.0**-22) - 2)
