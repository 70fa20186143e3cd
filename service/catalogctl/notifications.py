"""Show and choose the mails that the account gets."""

from service.catalogctl.session import Session

PATH = "/api/v1/account/notifications"
TOPICS = {
    "reviews": "reviews of your ads; for administrators also ads that wait for review",
    "bookings": "held and beginning weeks",
    "reports": "the figures of weeks that ended",
}
"""The topics, and what their mails are about."""

CHOICES = {"on": True, "off": False}


def choose(session: Session) -> None:
    """Change the topics that were given, if any, and show all."""
    session.needs_key()
    given = {topic: getattr(session.options, topic) for topic in TOPICS}
    changes = {topic: CHOICES[choice] for topic, choice in given.items() if choice is not None}
    reply = session.client.ask("PATCH", PATH, body=changes) if changes else session.client.ask("GET", PATH)
    shown = {topic.capitalize(): "on" if reply.document.get(topic) else "off" for topic in TOPICS}
    on = [topic for topic in TOPICS if reply.document.get(topic)]
    session.show(reply, session.facts(shown), on)
