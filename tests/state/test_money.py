"""Amounts of money in words."""

import pytest

from actors.shared.money import money


@pytest.mark.parametrize(
    ("cents", "currency", "words"),
    [
        (0, "usd", "USD 0.00"),
        (-5, "usd", "USD -0.05"),
        (125_000, "Eur", "EUR 1,250.00"),
        (1_250, "jpy", "JPY 1,250"),
        (-1_250_000, "kwd", "KWD -1,250.000"),
    ],
)
def test_an_amount_has_the_decimal_places_of_its_currency(cents: int, currency: str, words: str) -> None:
    assert money(cents, currency) == words
