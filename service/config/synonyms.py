"""The file of synonyms: words and phrases that mean the same, one group a line."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from service.config.user_errors import ConfigError

MAX_BYTES, MAX_GROUPS, MAX_IN_A_GROUP, LONGEST = 256 * 1024, 2_000, 12, 60

Groups = Sequence[Sequence[str]]


def synonyms_in(path: str) -> Groups:
    """The groups of a file; none if `path` is empty. Raises `ConfigError` with the line that is not right."""
    if not path:
        return ()
    try:
        with Path(path).open("rb") as file:
            text = file.read(MAX_BYTES + 1)
        if len(text) > MAX_BYTES:
            raise ValueError(f"is larger than {MAX_BYTES // 1024} KiB: shorten it")
        return list(groups_of(text.decode("utf-8-sig").splitlines()))
    except OSError as error:
        raise ConfigError(f"catalog.synonyms: cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"catalog.synonyms: {path} is not UTF-8 (byte {error.start + 1}): save it as UTF-8") from None
    except ValueError as error:
        raise ConfigError(f"catalog.synonyms: {path} {error}") from None


def groups_of(lines: Iterable[str]) -> Iterator[Sequence[str]]:
    """The groups of some lines: words or phrases between commas. Empty lines, and those that begin with `#`, are left out.
    Raises `ValueError`."""
    groups = 0
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        groups += 1
        words = [word.strip() for word in line.split(",")]
        if groups > MAX_GROUPS:
            raise ValueError(f"has more than {MAX_GROUPS} groups: remove some")
        if not 2 <= len(words) <= MAX_IN_A_GROUP or not all(1 <= len(word) <= LONGEST for word in words):
            raise ValueError(
                f"line {number}: a group has 2 to {MAX_IN_A_GROUP} words or phrases of at most {LONGEST} characters,"
                " with commas between them"
            )
        yield words
