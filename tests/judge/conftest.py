"""Runs the recorder in virtual time."""

from tests.virtual_time import mark_virtual

pytest_itemcollected = mark_virtual
