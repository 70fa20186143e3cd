"""All stories, in the order in which they are told."""

from tests.document import demo, refusals, refused_people, refused_sponsors
from tests.document.recorder import Story

STORIES: tuple[Story, ...] = (*demo.STORIES, *refusals.STORIES, *refused_people.STORIES, *refused_sponsors.STORIES)
