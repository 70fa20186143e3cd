"""All stories, in the order in which they are told."""

from tests.document import demo, refusals
from tests.document.recorder import Story

STORIES: tuple[Story, ...] = (*demo.STORIES, *refusals.STORIES)
