"""The document of retention lists every table, and an export has every table with something about a person."""

import re
from pathlib import Path

from actors.accounts.store import EXPORTED
from service.config.model import Config
from service.config.sections import Retention
from storage.connection.pool import Database
from storage.postgres.export import SOURCES
from tests.retention.year import TABLES

DOCUMENT = (Path(__file__).parents[2] / "docs/retention.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", DOCUMENT, re.MULTILINE))
"""What each table holds about a person."""

REFERENCES = """
select distinct table_name from information_schema.columns
where table_schema = 'public'
and column_name in ('email', 'actor_email', 'recipient', 'tenant_id', 'session_id', 'key_id', 'booking_id')
"""
NOT_OF_THE_ACCOUNT = {"events", "forms", "sign_ins"}
"""They are empty, and stay for nodes of release 1.1."""


async def test_the_document_lists_every_table(database: Database) -> None:
    tables = [row["relname"] for row in await database.fetch(TABLES)]
    assert list(ROWS) == tables, "docs/retention.md lists the tables in order, with the life of their rows"


async def test_an_export_has_every_table_that_refers_to_a_person(database: Database) -> None:
    referring = {row["table_name"] for row in await database.fetch(REFERENCES)}
    tables = referring - {"deliveries", "site_deliveries"}
    assert tables - NOT_OF_THE_ACCOUNT - set(EXPORTED) == set(), "add the table to actors.accounts.store.EXPORTED"


def test_an_export_has_the_tables_that_hold_something_about_a_person() -> None:
    personal = {table for table, words in ROWS.items() if not words.startswith("nothing")}
    assert set(EXPORTED) == personal == SOURCES.keys()


def test_the_document_names_every_setting() -> None:
    assert "retention" in Config.model_fields
    for name in Retention.model_fields:
        assert f"`{name}`" in DOCUMENT, name
