"""Write a made-up catalog of any size as JSON lines: `python bench/generate_catalog.py 100000 > catalog.jsonl`.

The same size and seed give the same bytes. Words are drawn from 20,000 by Zipf's law: a few are in nearly every entry,
most are rare. Every entry contains the word `sample`. One entry in five is a bot template.
"""

import argparse
import json
import random
import sys
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

WORDS = 20_000
NEWEST_MS = 1_790_000_000_000
COMMON_WORDS = (
    "invoice customer order report schedule email stock price reminder delivery booking supplier team weekly meeting"
    " draft answer review budget payment sales support ticket project summary photo garden kitchen repair school client"
    " contract notice travel menu recipe inventory shift roster translation survey newsletter lesson audit warehouse"
    " donation library fence bicycle harvest bakery plumbing orchard choir museum ferry clinic dentist tenant landlord"
    " permit receipt ledger refund coupon catalog parcel pallet carrier route vehicle mileage fuel tyre insurance claim"
)
SYLLABLES = (
    "ba be bi bo da de di do fa fe fi fo ga go ka ke ki la le li lo ma me mi mo na ne no pa pe po ra re ri ro sa se si"
    " so ta te ti to va ve vi vo"
)
FILLERS = ("the", "a", "of", "and", "to", "in", "with", "for", "on", "by", "from", "every", "after", "before")
CATEGORIES = ("Finance", "Office work", "Scheduling", "Retail", "Education", "Trades", "Hospitality", "Community")
PLATFORMS = ("Email", "Spreadsheet", "Calendar", "Text message", "Point of sale", "Web form")


class Writer:
    """Sentences and entries from one seeded source of randomness."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        words, syllables = COMMON_WORDS.split(), SYLLABLES.split()
        while len(words) < WORDS:
            words.append("".join(self._random.choices(syllables, k=self._random.randint(2, 5))))
        self._words = words
        self._weights = list(accumulate(1 / (rank + 10) for rank in range(WORDS)))

    def phrase(self, count: int) -> str:
        """`count` words of content with fillers between some of them."""
        parts = []
        for word in self._random.choices(self._words, cum_weights=self._weights, k=count):
            if self._random.random() < 0.3:
                parts.append(self._random.choice(FILLERS))
            parts.append(word)
        return " ".join(parts)

    def sentence(self, count: int) -> str:
        return self.phrase(count).capitalize() + "."

    def entry(self, number: int) -> dict[str, Any]:
        return self.bot(number) if number % 5 == 0 else self.usecase(number)

    def bot(self, number: int) -> dict[str, Any]:
        return {
            "type": "bot",
            "slug": f"sample-bot-{number}",
            "name": self.phrase(3).title(),
            "category": self._random.choice(CATEGORIES),
            "who": self.phrase(4).capitalize(),
            "handle": f"@sample-{number}",
            "job": f"{self.sentence(14)} {self.sentence(10)}",
            "templateUrl": f"https://example.com/templates/{number}",
            "addedAt": self._added_ms(),
        }

    def usecase(self, number: int) -> dict[str, Any]:
        usecase = {
            "type": "usecase",
            "slug": f"sample-usecase-{number}",
            "title": self.phrase(6).capitalize(),
            "who": self.phrase(4).capitalize(),
            "handle": f"@sample-{number}",
            "roi": self.sentence(8),
            "sourceUrl": f"https://example.org/usecases/{number}",
            "addedAt": self._added_ms(),
        }
        return usecase | {"guide": self._guide(number)} if number % 10 else usecase

    def _guide(self, number: int) -> dict[str, Any]:
        return {
            "title": self.phrase(5).capitalize(),
            "category": self._random.choice(CATEGORIES),
            "opportunity": self.sentence(18),
            "audience": self.sentence(9),
            "platforms": self._random.sample(PLATFORMS, 2),
            "botSlugs": [f"sample-bot-{number // 5 * 5}"] if number >= 5 else [],
            "steps": [self.sentence(10) for _ in range(4)],
            "prompt": f"{self.sentence(16)} {self.sentence(16)}",
            "value": {
                "amount": f"${self._random.randint(1, 200) * 10} a month",
                "label": "Hours saved",
                "basis": self.sentence(12),
                "kind": "illustrative",
            },
        }

    def _added_ms(self) -> int:
        return NEWEST_MS - self._random.randrange(3 * 365 * 86_400) * 1_000


def generate(count: int, seed: int) -> Iterator[str]:
    """The lines of a catalog."""
    writer = Writer(seed)
    for number in range(count):
        yield json.dumps(writer.entry(number), ensure_ascii=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    for line in generate(arguments.count, arguments.seed):
        sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
