"""The digest of campaigns that wait for review, mailed to administrators. Pure; source: ADR 0079."""

from actors.bookings import notifications
from actors.bookings.messages import Answer, SendDigest
from actors.bookings.unit_of_work import UnitOfWork

MOST_NAMED = 10
"""The most campaigns that a digest names."""


def send_digest(unit: UnitOfWork, _: SendDigest) -> Answer:
    """Write the digest, if a campaign was submitted since the last one and that is old enough."""
    reviews = unit.reviews
    if reviews.newest_ms <= reviews.mailed_ms or unit.now_ms < reviews.mailed_ms + unit.rules.digest_ms:
        return False
    if unit.decision.digest_ms is None:
        lines = [f"{view.sponsor_name or 'No name'}: {view.campaign.newest.headline}" for view in reviews.first]
        notifications.mail_review_digest(unit, reviews.count, "\n".join(lines))
        unit.decision.digest_ms = unit.now_ms
    return True
