"""Whether whoever asks is a person before a browser or a program, by the Accept header. Pure (RFC 9110, 12.5.1)."""

from collections.abc import Mapping

HTML, JSON = "text/html", "application/json"


def wants_page(headers: Mapping[str, str]) -> bool:
    """Whether a refusal should be a page. It is JSON unless the client names HTML, and likes it at least as much."""
    liked = _liked(headers.get("accept", ""))
    html = liked.get(HTML, 0.0)
    return html > 0 and html >= liked.get(JSON, 0.0)


def _liked(accept: str) -> dict[str, float]:
    """The weight of each media range; what cannot be read weighs nothing."""
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
