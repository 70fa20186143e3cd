"""Amounts of money in words. Pure.

Amounts are whole numbers of the smallest unit that the payment processor counts a currency in: mostly hundredths.
"""

WITHOUT, THREE = "bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf", "bhd jod kwd omr tnd"
"""Currencies without decimal places, and with three. Source: the processor's list of currencies."""


def places(currency: str) -> int:
    """The decimal places of a currency."""
    return 0 if currency in WITHOUT.split() else 3 if currency in THREE.split() else 2


def money(cents: int, currency: str) -> str:
    """`USD 1,250.00`, `JPY 1,250`."""
    decimals = places(currency.lower())
    whole, part = divmod(abs(cents), 10**decimals)
    sign = "-" if cents < 0 else ""
    return f"{currency.upper()} {sign}{whole:,}" + (f".{part:0{decimals}}" if decimals else "")
