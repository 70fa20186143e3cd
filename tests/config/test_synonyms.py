"""The file of synonyms: its groups, and what is said of a file that cannot be used."""

import re
from collections import Counter
from itertools import chain
from pathlib import Path

import pytest

from service.config.loading import load
from service.config.synonyms import MAX_BYTES, MAX_GROUPS, synonyms_in
from service.config.user_errors import ConfigError
from service.seed.catalog_file import parse
from service.seed.samples import FILE
from service.snapshots.search_index import stemmer, texts_of
from service.snapshots.search_text import Reader


def test_a_line_is_a_group(tmp_path: Path) -> None:
    file = tmp_path / "synonyms.txt"
    file.write_bytes("\ufeff# Words of offices\n\n invoice , bill\ntime off,vacation, Urlaub\r\n".encode())
    assert synonyms_in(str(file)) == [["invoice", "bill"], ["time off", "vacation", "Urlaub"]]
    assert synonyms_in("") == ()


def test_the_groups_of_the_samples_share_no_stem_and_each_has_one_that_an_entry_has() -> None:
    analyzer = stemmer()
    reader = Reader(lambda word: "".join(analyzer.analyze(word)))
    with FILE.open("rb") as stream:
        entries = [texts_of(entry.document) for each in parse(stream).entries.values() for entry in each]
    words = [set(" ".join(reader.words_of(" ".join((e.title, *e.about, *e.rest)))).split()) for e in entries]
    groups = [
        [tuple(reader.words_of(text).order.split()) for text in group]
        for group in synonyms_in(str(FILE.with_name("synonyms.txt")))
    ]
    counts = Counter(chain.from_iterable(groups))
    assert () not in counts
    assert [stems for stems, count in counts.items() if count > 1] == []
    assert [group for group in groups if not any(found.issuperset(way) for way in group for found in words)] == []
    assert len(counts) > 100


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"a, b\nalone",
            "line 2: a group has 2 to 12 words or phrases of at most 60 characters, with commas between them",
        ),
        (b"a,,b", "line 1: a group has"),
        (b"a, " + b"b" * 61, "line 1: a group has"),
        (b",".join([b"a"] * 13), "line 1: a group has"),
        (b"a, b\n" * (MAX_GROUPS + 1), f"has more than {MAX_GROUPS} groups"),
        (b"#" * (MAX_BYTES + 1), "is larger than 256 KiB"),
        (b"\xff", "is not UTF-8 (byte 1)"),
        (None, "cannot read"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_the_line(tmp_path: Path, content: bytes | None, message: str) -> None:
    file = tmp_path / "synonyms.txt"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigError, match=re.escape(message)) as raised:
        synonyms_in(str(file))
    assert str(raised.value).startswith("catalog.synonyms: ")
    assert str(file) in str(raised.value)


@pytest.mark.parametrize("name", ["search_seconds", "keyless_search_seconds", "waiters_per_caller"])
def test_a_setting_of_the_search_before_is_refused_as_removed(name: str) -> None:
    with pytest.raises(ConfigError, match=f"catalog.{name} in .* was removed in 1.2"):
        load(None, {f"CATALOG__CATALOG__{name.upper()}": "1"})
