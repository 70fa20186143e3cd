"""Placements that were visible or recorded were live within the bound on a node's delay; views show committed counts."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

from actors.bookings.records import BookingStatus, BookingView, CampaignStatus
from tests.simulation.history import Heard, Operation
from tests.simulation.oracle.bookings import WEEK_MS, weeks
from tests.simulation.oracle.case import Case
from tests.simulation.oracle.events import LIVE, Rows
from tests.simulation.rules import PROMPT_SECONDS, STALE_SECONDS

Window = tuple[int, int]


class Visibility:
    """The times when placements were live, according to the log of commits."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._spans: dict[str, list[tuple[int, Window | None]]] = {}
        ends = [(each.start, each.began) for each in case.world.history.requests]
        for kind in sorted(case.world.history.intents):
            ends += [(each.start, each.began) for each in case.of(kind)]
        self._moments = sorted(ends)

    def spans(self, booking_id: str) -> list[tuple[int, Window | None]]:
        """Return the weeks in which a placement was to be shown, or None, with the tick at which each state began."""
        if booking_id not in self._spans:
            self._spans[booking_id] = list(self._follow(booking_id))
        return self._spans[booking_id]

    def _follow(self, booking_id: str) -> Iterator[tuple[int, Window | None]]:
        log, booking = self._case.world.log, self._case.memory.bookings.get(booking_id)
        if booking is None:
            yield 0, None
            return
        held = weeks(booking)
        names = [("bookings", booking_id), ("campaigns", booking.campaign_id), *(("slot_weeks", week) for week in held)]
        for tick in sorted({0, *(tick for name in names for tick, _ in log.versions.get(name, []))}):
            row, campaign = log.at("bookings", booking_id, tick), log.at("campaigns", booking.campaign_id, tick)
            live = (
                row is not None
                and campaign is not None
                and row.status is BookingStatus.PAID
                and not row.disputed
                and campaign.status is CampaignStatus.APPROVED
                and all(log.at("slot_weeks", week, tick) == booking_id for week in held)
            )
            first_ms = booking.week_start_ms
            yield tick, (first_ms, first_ms + booking.weeks * WEEK_MS) if live else None

    def during(self, booking_id: str, began: int, ended: int) -> list[Window | None]:
        spans = self.spans(booking_id)
        earlier = [window for tick, window in spans if tick <= began]
        return [earlier[-1] if earlier else None, *(window for tick, window in spans if began < tick <= ended)]

    def since(self, operation: Operation) -> int:
        """Return the tick of the oldest snapshot that a node may show.

        The age limit counts from the last good read if the store did not answer, or not promptly.
        """
        index = int(operation.node[1:].partition(".")[0])
        since = operation.start - STALE_SECONDS
        for look in reversed(self._case.world.nodes[index].looks):
            if look.end < since:
                break
            prompt = look.good and look.end - look.start <= PROMPT_SECONDS
            if look.start <= operation.start and not prompt:
                since = min(since, look.start - STALE_SECONDS)
        place = bisect_left(self._moments, (since, 0))
        return self._moments[place - 1][1] if place else 0

    def clocks(self, operation: Operation) -> tuple[int, int]:
        return self._case.span_ms(operation)


def _visibility(case: Case, rows: Rows) -> Visibility:
    rows.visibility = rows.visibility or Visibility(case)
    assert isinstance(rows.visibility, Visibility)
    return rows.visibility


def only_what_is_live_is_recorded(case: Case, rows: Rows) -> Iterator[str]:
    """Recorded and duplicate events were live within the bound; inactive ones were not live at some moment.

    Inactive events have no such grace, because a node asks the store about placements that it does not show.
    """
    visibility = _visibility(case, rows)
    for operation in case.of("report"):
        heard = operation.result
        if not isinstance(heard, Heard) or heard.status != 200:
            continue
        for event, outcome in dict.fromkeys(zip(operation.about.post.named, heard.outcomes, strict=True)):
            if outcome in LIVE and not _may_be_visible(visibility, operation, event.booking_id):
                yield f"{event} was {outcome} at {operation.start:.3f} by {operation.node}, but its placement was not live"
            if outcome == "inactive" and _is_surely_visible(visibility, operation, event.booking_id, operation.began):
                yield f"{event} was {outcome} at {operation.start:.3f} by {operation.node}, but its placement was live"


def placements_are_those_that_are_live(case: Case, rows: Rows) -> Iterator[str]:
    visibility = _visibility(case, rows)
    for operation in case.of("show"):
        if not isinstance(operation.result, tuple):
            continue
        since = visibility.since(operation)
        for booking_id in operation.result:
            if not _may_be_visible(visibility, operation, booking_id):
                yield f"{operation.node} showed {booking_id} at {operation.start:.3f}, which was not live"
        for booking_id in case.memory.bookings:
            if booking_id not in operation.result and _is_surely_visible(visibility, operation, booking_id, since):
                yield f"{operation.node} did not show {booking_id} at {operation.start:.3f}, which was live"


def placements_show_what_was_approved(case: Case, rows: Rows) -> Iterator[str]:
    """An edit is shown once it is approved, and not at all if it was rejected or withdrawn."""
    visibility = _visibility(case, rows)
    for operation in case.of("show"):
        since = visibility.since(operation)
        for booking_id, headline in operation.about.items():
            campaign_id = case.memory.bookings[booking_id].campaign_id
            rows_then = case.world.log.during("campaigns", campaign_id, since, operation.ended)
            if headline not in [
                row.content.headline for row in rows_then if row is not None and row.status == "approved"
            ]:
                yield f"{operation.node} showed {headline!r} of {booking_id} at {operation.start:.3f}: {rows_then}"


def _may_be_visible(visibility: Visibility, operation: Operation, booking_id: str) -> bool:
    early_ms, late_ms = visibility.clocks(operation)
    windows = visibility.during(booking_id, visibility.since(operation), operation.ended)
    return any(window is not None and window[0] <= late_ms and early_ms < window[1] for window in windows)


def _is_surely_visible(visibility: Visibility, operation: Operation, booking_id: str, since: int) -> bool:
    early_ms, late_ms = visibility.clocks(operation)
    windows = visibility.during(booking_id, since, operation.ended)
    return all(window is not None and window[0] <= early_ms and late_ms < window[1] for window in windows)


def views_count_what_is_stored(case: Case, rows: Rows) -> Iterator[str]:
    """Views include everything answered before the request, and nothing stored after its answer."""
    for kind in sorted(case.world.history.intents):
        for operation in case.of(kind):
            for view in _views(operation.result):
                fair = case.world.tally.totals_during(view.booking.id, operation.began, operation.ended)
                if (view.impressions, view.clicks) not in fair:
                    listed = f"{view.impressions} impressions and {view.clicks} clicks"
                    yield f"{kind} showed {listed} of {view.booking.id} at {operation.start:.3f}; there were {fair}"


def _views(result: Any) -> Sequence[BookingView]:
    if isinstance(result, BookingView):
        return [result]
    return [each for each in result if isinstance(each, BookingView)] if isinstance(result, list) else []
