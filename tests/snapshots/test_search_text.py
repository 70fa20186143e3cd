"""The words of entries and of searches: one spelling, parts and joined words, pairs of letters of scripts without spaces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.snapshots.search_text import Reader, folded, runs_of, words_of


@pytest.mark.parametrize(
    ("text", "order", "beside"),
    [
        ("Slack/Teams notifier", "slack teams notifier", "slackteams"),
        ("Node.js", "node js", "nodejs"),
        ("Monday.com", "monday com", "mondaycom"),
        ("ann@example.com", "ann example com", "annexample annexamplecom examplecom"),
        ("wi-fi-router", "wi fi router", "firouter wifi wifirouter"),
        ("snake_case a|b", "snake case a b", "snakecase ab"),
        ("B2B gpt4", "b 2 b gpt 4", ""),
        (
            "GitHub JavaScript-Test iPhone",
            "github javascript test iphone",
            "git hub javascripttest java script i phone",
        ),
        ("1,000 tons at 10:30", "1 000 tons at 10 30", "1000"),
        ("AT&T don't customer's O'Brien", "at t don t customer o brien", "att dont obrien"),
        ("C++ and C# (F#), Notepad++", "c and c f notepad", "c++ c# f# notepad++"),
        ("a+b 1+1 #tag -x--y ...", "a b 1 1 tag x y", "ab"),
        ("Résumé Zürich Zu\u0308rich Straße", "resume zurich zurich strasse", ""),
        ("Łódź Ærø İstanbul ΆΛΦΑ Ёлка", "lodz aero istanbul αλφα елка", ""),
        ("ﬁle ½ ① Ⅷ", "file 1 ⁄ 2 1 viii", ""),
        ("Hitman™ Fax℠ x℡y 5㏇ №7", "hitman fax x tel y 5 co no 7", ""),
        ("xⁿ Mᵐᵉ 1ᵉʳ m² \u1d2ca", "x n m me 1 er m 2 aa", "xn mme"),
        ("١٢ हिन्दी फ़ोन ऩक שָׁלוֹם", "12 हिनदी फोन नक שלום", ""),
        ("شـابوص ߞߺߊ الدورى مكتبة یک", "شابوص ߞߊ الدوري مكتبه يك", "دوري"),
        ("والتقرير للبيت باب الم", "والتقرير للبيت باب الم", "تقرير بيت"),
        ("می\u200cخواهم \u200cا\u200c-\u200c", "مي خواهم ا", "ميخواهم"),
        ('צה״ל צה"ל ״שלום״ ג׳ינס', "צה ל צה ל שלום ג ינס", "צהל צהל גינס"),
        ("🇩🇪🇩🇰 a🇫b 🇦🇹🇨", "🇩🇪 🇩🇰 a 🇫 b 🇦🇹 🇨", ""),
        ("自动回复客户邮件", "自动 动回 回复 复客 客户 户邮 邮件", "自 动 回 复 客 户 邮 件"),
        ("ｱｲ がぎ 한국어", "アイ がぎ 한국 국어", "ア イ が ぎ 한 국 어"),
        ("ภาษา", "ภา าษ ษา", "ภ า ษ า"),
        ("iPhone手机", "iphone 手机", "手 机 i phone"),
        ("🦄 👩🏽\u200d💻 €5 1\ufe0f\u20e3", "🦄 👩 💻 € 5 1", ""),
        ("a\u200bb \xadso\xadft\u202e \ud800 x\0y", "a b soft x y", ""),
        ("“quoted” ‘it’s’ e\u2010mail", "quoted it e mail", "email"),
        ("", "", ""),
    ],
)
def test_the_words_of_a_text(text: str, order: str, beside: str) -> None:
    words = words_of(text)
    assert (words.order, sorted(words.beside.split())) == (order, sorted(beside.split()))


@given(st.lists(st.one_of(st.text(max_size=12), st.sampled_from(("Node.js", "AT&T", "客户", "-x", "C++"))), max_size=8))
def test_a_reader_reads_the_same_again(texts: list[str]) -> None:
    reader, text = Reader(str), " ".join(texts)
    first = reader.words_of(text)
    assert reader.words_of(text) == first == Reader(str).words_of(text)
    first.order.encode()
    first.beside.encode()


@given(st.text())
def test_a_spelling_is_the_same_in_capitals_decomposed_and_folded_again(text: str) -> None:
    assert folded(folded(text)).split() == folded(text).split()
    for run in runs_of(folded(text)):
        assert all(run.parts)


@pytest.mark.parametrize("piece", ["a", "aB", "a-", "1,", "一", "é", "+", "a+", "'s", "A", "a1", '"'])
def test_long_words_are_read_in_a_time_that_grows_with_their_length_only(piece: str) -> None:
    """A quadratic reader would take minutes for these."""
    Reader(str).words_of(piece * 20_000)
