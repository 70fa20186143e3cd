"""Pages of lists as lines of files. Postgres writes all cells but those with texts, whose rules are the file's."""

from functools import cache


def _moment(column: str) -> str:
    return f"""to_char(to_timestamp({column} / 1000) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')"""


def _cells(*expressions: str) -> str:
    return f"""concat({", ',', ".join(expressions)})"""


@cache
def booking_lines(statement: str, now: int) -> str:
    """The lines of a page of bookings, at the time that is parameter number `now`."""
    columns = (
        f"case when status in ('reserved', 'checkout') and hold_ms <= ${now} then 'expired' else status end",
        *("slot_name", "campaign_name", "sponsor_name"),
        _cells(_moment("week_start_ms"), _moment("(week_start_ms + weeks * 604800000::bigint)"), "amount_cents"),
        "currency",
        _cells("mode", _moment("created_ms"), _moment("paid_ms"), "paid_cents", "refunded_cents"),
        "case when disputed then 'disputed' else payment_issue end",
        _cells(
            "case when demo then 'yes' else 'no' end",
            _moment("greatest(week_start_ms, created_ms - created_ms % 86400000)"),
        ),
        "case when paid_cents is not null then coalesce(nullif(paid_currency, ''), currency) end",
    )
    named = ", ".join(f"{column} as cell_{place}" for place, column in enumerate(columns))
    return f"select created_ms, id, {named} from ({statement}) as page order by created_ms desc, id desc"
