"""Query strings as models: short ones are cached, so requests share their models."""

import pytest

from actors.values import Refused
from service.api.operation import Operation
from service.api.operations import OPERATIONS
from service.api.validation import SHORT_CHARACTERS, parse_query
from service.schemas.lists import CatalogQuery, ListQuery

QUERIES = [operation for operation in OPERATIONS if operation.query is not None]


@pytest.mark.parametrize("operation", QUERIES, ids=lambda operation: operation.name)
def test_no_handler_can_change_the_query_of_another_request(operation: Operation) -> None:
    assert operation.query is not None
    assert operation.query.model_config.get("frozen") is True


def test_requests_share_the_model_of_a_short_query_and_not_of_a_long_one() -> None:
    short, long = "limit=7&q=invoices", "limit=7&q=" + "a" * SHORT_CHARACTERS
    assert parse_query(CatalogQuery, short) is parse_query(CatalogQuery, short)
    assert parse_query(CatalogQuery, long) == parse_query(CatalogQuery, long)
    assert parse_query(CatalogQuery, long) is not parse_query(CatalogQuery, long)


def test_lists_with_equal_queries_do_not_share_a_model() -> None:
    catalog, sponsorship = parse_query(CatalogQuery, "limit=60"), parse_query(ListQuery, "limit=60")
    assert isinstance(catalog, CatalogQuery)
    assert isinstance(sponsorship, Refused), "its bound is 50"


def test_a_short_query_that_is_refused_is_refused_again() -> None:
    for _ in range(2):
        refused = parse_query(CatalogQuery, "limit=0")
        assert isinstance(refused, Refused)
        assert [problem.field for problem in refused.problems] == ["limit"]
