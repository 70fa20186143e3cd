"""The search index: what is found, and in which order, whichever edits led to the entries."""

import random
from collections.abc import Mapping, Sequence
from functools import cache

import pytest

from actors.catalog.messages import Entry, Kind
from service.snapshots import search_query
from service.snapshots.search_index import SearchIndex
from service.snapshots.search_query import Found, distance
from tests.snapshots.entries import bot, guide_fields, usecase

SYNONYMS = (("invoice", "bill"), ("time off", "vacation", "自动化"), ("C++", "compiled"))
LIBRARY = (
    bot("in-name", name="Fence Painter", addedAt=10),
    bot("in-category", category="Fence", addedAt=40),
    bot("in-job", job="Paints one fence.", addedAt=30),
    bot("in-rest", who="Owner of a fence", addedAt=50),
    bot("without", addedAt=60),
)
OFFICE = (
    bot("painter", name="Fence Painter", job="Paints one fence.", addedAt=10),
    bot("reader", name="Invoice Reader", category="Finance", job="Reads each invoice.", addedAt=20),
    bot("chaser", name="Invoice Chaser", category="Finance", job="Sends a reminder.", addedAt=30),
    bot("gardener", name="Garden Helper", category="Office work", job="Waters a fence of roses.", addedAt=40),
    bot("clerk", name="Finance clerk", category="Office", job="Does office work.", addedAt=50),
)
ODD = tuple(
    bot(slug, name=name, who="Somebody", job="Nothing else.", addedAt=1)
    for slug, name in {
        "slash": "Slack/Teams notifier",
        "dot": "Monday.com board cleaner",
        "node": "Node.js upgrader",
        "accent": "Résumé sorter for Zürich",
        "sharp-s": "Straße",
        "chinese": "自动回复客户邮件",
        "japanese": "メールを自動で返信",
        "korean": "고객에게 메일을 보내기",
        "thai": "ตอบอีเมลลูกค้า",
        "stop": "The Who",
        "at": "AT&T bill",
        "cpp": "C++ helper",
        "csharp": "C# helper",
        "c": "C helper",
        "emoji": "🦄",
        "camel": "GitHub watcher",
        "digits": "GPT4 and B2B",
        "address": "mails@example.com",
        "arabic": "مساعد",
        "hindi": "हिन्दी सहायक",
    }.items()
)


@cache
def index_of(*entries: Entry, kind: Kind = Kind.BOTS) -> SearchIndex:
    index = SearchIndex(SYNONYMS)
    index.apply(kind, entries, ())
    return index


def found(q: str, entries: Sequence[Entry] = LIBRARY, limit: int = 20, category: str | None = None) -> list[str]:
    """The slugs of entries that have all words."""
    result = index_of(*entries).search(Kind.BOTS, q, limit, category)
    assert not result.relaxed, (q, result)
    return list(result.slugs)


def relaxed(q: str, entries: Sequence[Entry] = OFFICE, category: str | None = None) -> list[str]:
    result = index_of(*entries).search(Kind.BOTS, q, 20, category)
    assert result.relaxed, (q, result)
    return list(result.slugs)


# Which words find an entry.


@pytest.mark.parametrize(
    ("slug", "queries"),
    [
        ("slash", ["slack", "teams", "slack teams", "slack/teams", "SlackTeams", "teams/slack", "notifiers"]),
        ("dot", ["monday", "monday.com", "mondaycom", "monday com", "boards"]),
        ("node", ["node", "js", "nodejs", "node js", "Node.js", "NODE-JS", '"node js upgrader"', "nodejs upgrade"]),
        ("accent", ["resume", "résumés", "zurich", "Zu\u0308rich", "ZÜRICH", "ｚｕｒｉｃｈ", "sorter resume"]),
        ("sharp-s", ["strasse", "straße", "STRASSE", "straß"]),
        ("chinese", ["客户 邮件", "客户邮件", "邮", "自动回复", '"客户邮件"', "客户/邮件"]),
        ("japanese", ["メール", "ﾒｰﾙ", "自動", "返信", "メール 返信"]),
        ("korean", ["메일", "고객", "메일 고객"]),
        ("thai", ["อีเมล", "ลูกค้า"]),
        ("stop", ["The Who", "the who", '"the who"']),
        ("at", ["AT&T", "at&t", "att", "at&t bill", '"at t"']),
        ("cpp", ["C++", "c++ helper"]),
        ("csharp", ["C#", "c# helpers"]),
        ("emoji", ["🦄", "🦄\ufe0f"]),
        ("camel", ["github", "git", "hub", "GitHub", "git hub", "GITHUB watchers"]),
        ("digits", ["gpt", "gpt4", "gpt-4", "gpt 4", "b2b", "B2B"]),
        ("address", ["mails@example.com", "mail", "mails example"]),
        ("arabic", ["مساعد", "مُساعِد"]),
        ("hindi", ["हिन्दी", "सहायक"]),
    ],
)
def test_an_entry_is_found_by_each_way_to_write_its_words(slug: str, queries: Sequence[str]) -> None:
    for q in queries:
        assert found(q, ODD)[0] == slug, q


def test_signs_that_make_another_word_find_only_that_word() -> None:
    assert found("c++", ODD) == ["cpp"]
    assert found("c#", ODD) == ["csharp"]
    assert sorted(found("c helper", ODD)) == ["c", "cpp", "csharp"]


def test_other_forms_of_a_word_are_found() -> None:
    assert found("fences painting") == ["in-job"]
    assert found("painters") == ["in-name"]


def test_all_words_must_occur() -> None:
    assert found("fence painter") == ["in-name"]
    assert relaxed("fence submarine", LIBRARY)[0] == "in-name"


def test_words_that_mean_the_same_are_found_behind_those_that_were_typed() -> None:
    entries = (bot("bill", name="Bill", addedAt=9), bot("invoice", name="Invoice"), bot("off", name="My time off"))
    assert found("invoices", entries) == ["invoice", "bill"]
    assert found("bill", entries) == ["bill", "invoice"]
    assert found("vacation", entries) == found("自动化", entries) == ["off"]
    leave = (bot("off", name="My time off", addedAt=1), bot("away", name="Vacation"), bot("auto", name="办公自动化"))
    assert found("times off", leave) == ["off", "auto", "away"]
    assert found('"time off"', leave) == ["off"]
    assert found("compiled", ODD) == found("c++", ODD) == ["cpp"]


def test_phrases_exclusions_and_alternatives() -> None:
    assert found("fence -painter -owner") == ["in-category", "in-job"]
    assert found("painter or owner") == ["in-name", "in-rest"]
    assert found('"fence painter"') == ["in-name"]
    assert found('"painter fence"') == found("“painter fence") == []
    assert found('fence -"fence painter"') == ["in-category", "in-job", "in-rest"]
    assert found("fence -(painter)") == found("fence painter -submarine")
    assert found("-fence") == ["without"]
    assert found('"fenze"') == found("fenze -owner") == []


def test_a_phrase_does_not_reach_from_one_field_to_the_next() -> None:
    entries = (bot("a", name="Big fence", who="Painter"), bot("b", name="Node.js nodejs", job="Else"))
    assert found('"fence painter"', entries) == []
    assert found('"big fence"', entries) == ["a"]


def test_two_hyphens_and_one_between_spaces_are_a_dash() -> None:
    for dash in (" - ", "--", " -- ", " - - ", " --- ", "-" * 180):
        assert found(f"fence{dash}painter") == ["in-name"], dash
    for q in ("--fence", "fence --", "- - fence - -"):
        assert found(q) == ["in-name", "in-category", "in-job", "in-rest"], q


@pytest.mark.parametrize("q", ["", "   ", "\0", "...", "!&|()<->:*'", '"', '"" -""', "\ud800", "\ufe0f", "- -- ---"])
def test_a_text_without_words_finds_nothing(q: str) -> None:
    assert index_of(*LIBRARY).search(Kind.BOTS, q, 20) == Found(())


def test_nul_separates_words() -> None:
    assert found("fence\0painter") == ["in-name"]


# Order.


def test_the_name_outweighs_category_and_job_and_they_the_rest() -> None:
    assert found("fence") == ["in-name", "in-category", "in-job", "in-rest"]
    assert found("FENCE", limit=2) == ["in-name", "in-category"]


def test_the_title_of_a_use_case_outweighs_its_guides_category_and_that_the_rest() -> None:
    guides = {name: guide_fields(**{name: "About a fence"}) for name in ("category", "prompt", "opportunity")}
    entries = [usecase(f"in-{name}", guide=guide, addedAt=50) for name, guide in guides.items()]
    listed = usecase("in-steps", guide=guide_fields(steps=["Go.", "Paint the fence."]), addedAt=40)
    index = index_of(*entries, listed, usecase("in-title", title="Fence", addedAt=1), kind=Kind.USECASES)
    assert index.search(Kind.USECASES, "fence", 20).slugs == (
        "in-title",
        "in-category",
        "in-opportunity",
        "in-prompt",
        "in-steps",
    )
    assert index.search(Kind.BOTS, "fence", 20).slugs == ()


def test_equal_ranks_are_newest_first_then_by_slug() -> None:
    entries = [bot(slug, name="Fence", addedAt=at) for slug, at in (("b", 1), ("a", 1), ("c", 2))]
    assert found("fence", entries) == ["c", "a", "b"]


def test_the_newest_of_many_equal_ranks_are_found_wherever_the_index_keeps_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search_query, "PAGE", 1)
    monkeypatch.setattr(search_query, "TIMES", 2)
    index = SearchIndex()
    entries = [bot(f"a{number:02}", name="Fence", addedAt=5 if number % 2 else 4) for number in range(40)]
    index.apply(Kind.BOTS, entries, ())
    index.apply(Kind.BOTS, [bot("a", name="Fence", addedAt=5), bot("z", name="Fence", addedAt=4)], ())
    assert index.search(Kind.BOTS, "fence", 3).slugs == ("a", "a01", "a03")


WORDS = ("fence", "fences", "invoice", "paint", "garden", "roses", "node.js", "客户", "the", "who", "review")
QUESTIONS = (
    "fence",
    "paint the fence",
    "invoice or roses",
    "gardn fense",
    "fen",
    "-fence",
    "nodejs",
    "客户",
    "the who",
)


def _random_entry(chance: random.Random) -> Entry:
    words = [" ".join(chance.choices(WORDS, k=chance.randint(1, 3))) for _ in range(3)]
    slug, added = f"entry-{chance.randrange(30)}", chance.choice((0, 5, 1_600_000_000_000, 1_700_000_000_000))
    return bot(slug, name=words[0], category=chance.choice(("A", "B", None)), job=words[1], who=words[2], addedAt=added)


def _answers(index: SearchIndex, entries: Mapping[str, Entry]) -> object:
    asked = [
        index.search(Kind.BOTS, q, limit, category) for q in QUESTIONS for limit, category in ((4, None), (40, "A"))
    ]
    return asked, [index.related(Kind.BOTS, slug, entries[slug].document, 5) for slug in sorted(entries)[:3]]


@pytest.mark.parametrize("seed", range(2))
def test_an_index_after_any_edits_answers_as_one_that_was_made_of_the_same_entries(seed: int) -> None:
    chance, edited, entries = random.Random(seed), SearchIndex(SYNONYMS), dict[str, Entry]()
    for _ in range(12):
        saved = {entry.slug: entry for entry in (_random_entry(chance) for _ in range(chance.randint(0, 4)))}
        removed = set(chance.sample(sorted(entries), min(len(entries), chance.randint(0, 2)))) - saved.keys()
        edited.apply(Kind.BOTS, saved.values(), removed)
        entries = {slug: entry for slug, entry in (entries | saved).items() if slug not in removed}
        _answers(edited, entries)
    fresh = SearchIndex(SYNONYMS)
    fresh.apply(Kind.BOTS, chance.sample(list(entries.values()), len(entries)), ())
    assert _answers(edited, entries) == _answers(fresh, entries)


# Relaxing.


def test_without_an_entry_with_all_words_those_with_most_are_found_the_rarest_words_first() -> None:
    assert relaxed("invoice reminder roses")[0] == "chaser"
    assert sorted(relaxed("invoice reminder roses")) == ["chaser", "gardener", "reader"]
    assert relaxed("how can I get my invoices paid")[:2] == ["reader", "chaser"]


def test_an_unfinished_last_word_is_completed() -> None:
    assert relaxed("invoice rem")[0] == "chaser"
    assert relaxed("gard") == ["gardener"]
    assert relaxed("invoice remindi")[0] == "chaser"


def test_the_entries_whose_words_continue_the_last_one_stand_behind_those_that_have_it() -> None:
    entries = (bot("java", name="Java", addedAt=1), bot("script", name="Javascript", addedAt=9))
    assert found("java", entries) == ["java", "script"]
    assert found('"java"', entries) == ["java"]


def test_a_number_is_completed_but_never_corrected() -> None:
    entries = (bot("room", name="Room 3510", addedAt=1), bot("part", name="IPZ-954 Finder", addedAt=1))
    assert relaxed("351", entries) == relaxed("room 35", entries) == ["room"]
    assert relaxed("ipz95", entries) == ["part"]
    for q in ("3501", "351 x", "3511"):
        assert index_of(*entries).search(Kind.BOTS, q, 20) == Found(()), q


def test_a_word_that_was_typed_as_two_is_found_unless_an_entry_has_both() -> None:
    entries = (bot("sheet", name="Spreadsheet Cleaner", addedAt=1), bot("flow", name="Workflow", addedAt=1))
    assert found("spread sheets", entries) == found("cleaner of spread sheets", entries) == ["sheet"]
    assert relaxed("submarine work flows", entries) == ["flow"]
    assert found('"work flow"', entries) == found("work -flow", entries) == []
    both = (*entries, bot("both", name="Work", job="Water must flow.", addedAt=1))
    assert found("work flow", both) == ["both"]


def test_an_unknown_plural_is_completed_from_its_stem_before_it_is_corrected() -> None:
    entries = (bot("doctor", name="Doctor", addedAt=1), bot("dock", name="Dock", addedAt=1))
    assert relaxed("docs please", (bot("docx", name="Docx file"), bot("cost", name="Dogs"))) == ["docx"]
    assert sorted(relaxed("docs submarine", entries)) == ["dock", "doctor"]


def test_entries_with_more_of_the_words_come_before_those_with_a_rarer_one() -> None:
    common = [bot(f"common-{number}", name=f"Invoice {number}", job="Reminder.", addedAt=1) for number in range(8)]
    rare = bot("rare", who="A diver with an okapi", addedAt=9)
    assert relaxed("okapi invoice reminder submarine", [rare, *common])[-1] == "rare"


def test_letters_that_were_swapped_left_out_or_doubled_are_corrected() -> None:
    for q in (
        "invioce chaser",
        "invoce chaser",
        "INVOIICE CHASER",
        "chasr invoice",
        "chaser, invoicce",
        "nivoice chaser",
    ):
        assert relaxed(q)[0] == "chaser", q
    assert relaxed("remindrs")[0] == "chaser"
    assert relaxed("fencepainter")[0] == "painter"
    assert relaxed("gardning")[0] == "gardener"


def test_words_that_no_entry_has_find_nothing() -> None:
    assert index_of(*OFFICE).search(Kind.BOTS, "submarine periscopes", 20) == Found(())


def test_the_words_follow_the_entries() -> None:
    index = SearchIndex()
    index.apply(Kind.BOTS, OFFICE, ())
    index.apply(Kind.BOTS, [bot("zoo", name="Okapi")], [entry.slug for entry in OFFICE])
    assert index.search(Kind.BOTS, "okappi", 20) == Found(("zoo",), relaxed=True)
    assert index.search(Kind.BOTS, "invioce", 20) == Found(())
    assert len(index) == 1


def test_signs_of_query_languages_are_no_syntax() -> None:
    for word in (
        "it's\\n",
        "a'b",
        "x&y|z",
        "!fence",
        "fence:*",
        "<1>",
        "\\",
        "''",
        "(fence",
        "AND",
        "+x",
        "title:x",
        "[a TO b]",
        "x~2",
    ):
        entries = (*OFFICE, bot("odd", name=f"Odd {word} name", addedAt=1))
        assert {"gardener", "odd"} & {*relaxed(f"{word} submarine roses", entries)}, word


@pytest.mark.parametrize(
    ("one", "other", "letters"),
    [("", "ab", 2), ("ab", "ba", 1), ("abc", "ab", 1), ("abc", "axc", 1), ("kitten", "sitting", 3)],
)
def test_the_distance_of_words(one: str, other: str, letters: int) -> None:
    assert distance(one, other) == distance(other, one) == letters


# Categories.


def test_a_search_within_a_category_finds_its_entries_only() -> None:
    assert sorted(found("invoice", OFFICE, category="Finance")) == ["chaser", "reader"]
    assert found("fence or finance", OFFICE, category="Office work") == ["gardener"]
    assert found("-garden", OFFICE, category="Office work") == []
    assert found("-invoice", OFFICE, category="Office work") == ["gardener"]
    assert sorted(relaxed("invioce submarine", category="Finance")) == ["chaser", "reader"]


def test_a_category_of_any_name_can_be_searched() -> None:
    for category in ("The", "& !", "it's a 'b' \\", "-x", "Ä ö", "a | b"):
        entries = (*OFFICE, bot("odd", name="Fence", category=category))
        assert found("fence", entries, category=category) == ["odd"], category
        assert found("... !", entries, category=category) == []


# Related.


def test_entries_about_the_same_are_related_the_nearest_first() -> None:
    index = index_of(*OFFICE)
    assert index.related(Kind.BOTS, "reader", OFFICE[1].document, 5) == ("chaser",)
    assert index.related(Kind.BOTS, "painter", OFFICE[0].document, 5) == ("gardener",)
    assert index.related(Kind.USECASES, "reader", OFFICE[1].document, 5) == ()


def test_a_shared_category_counts_like_a_shared_word_of_the_title(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = (
        bot("asked", name="Okapi feeder", category="Other", job="Walks each week.", addedAt=1),
        bot("week", name="Planner", category="Office", job="Plans a week.", addedAt=9),
        bot("other", name="Ticket seller", category="Other", job="Sells.", addedAt=1),
        bot("both", name="Cleaner", category="Other", job="Cleans each week.", addedAt=1),
    )
    assert index_of(*entries).related(Kind.BOTS, "asked", entries[0].document, 5)[:2] == ("both", "other")
    larger = (*entries, bot("last", name="Usher", category="Other", job="Ushers.", addedAt=1))
    assert {"other", "last"} <= set(index_of(*larger).related(Kind.BOTS, "asked", entries[0].document, 5))
    monkeypatch.setattr(search_query, "MAX_SCANNED", 3)
    assert index_of(*larger).related(Kind.BOTS, "asked", entries[0].document, 5) == ("both",)
