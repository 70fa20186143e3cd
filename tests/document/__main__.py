"""Records the examples of the OpenAPI document anew: `python -m tests.document`, or `make examples`."""

import logging
from functools import partial

import trio
from trio.testing import MockClock

from service.api.openapi.examples import FILE
from tests.document.recorder import record, text_of
from tests.document.stories import STORIES

logging.disable(logging.CRITICAL)  # some stories provoke bugs and outages
recorded = trio.run(partial(record, STORIES), clock=MockClock(autojump_threshold=0))
FILE.write_text(text_of(recorded), encoding="utf-8")
