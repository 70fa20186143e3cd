"""Decides by the Accept header whether a refusal is a page or JSON (RFC 9110, 12.5.1). Pure."""

from collections.abc import Mapping

HTML, JSON = "text/html", "application/json"


def wants_page(headers: Mapping[str, str]) -> bool:
    """Whether the client names HTML and prefers it to JSON, or accepts both equally."""
    weights = _weights(headers.get("accept", ""))
    html = weights.get(HTML, 0.0)
    return html > 0 and html >= weights.get(JSON, 0.0)


def _weights(accept: str) -> dict[str, float]:
    """The weight of each media range; 0 for a weight that cannot be read."""
    weights: dict[str, float] = {}
    for part in accept[:1_000].split(","):
        kind, *parameters = (piece.strip().lower() for piece in part.split(";"))
        weight = 1.0
        for parameter in parameters:
            name, _, value = parameter.partition("=")
            if name.strip() == "q":
                weight = _weight(value.strip())
        weights[kind] = weight
    return weights


def _weight(text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        return 0.0
    return weight if 0.0 <= weight <= 1.0 else 0.0
