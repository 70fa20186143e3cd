"""Sentences that are shown on top of the page which a form leads to, by the name that stands in its address.

Only what stands here is shown: an address cannot make a page say anything else.
"""

from collections.abc import Mapping

NOTICES: Mapping[str, str] = {
    "signed_in": "You are signed in.",
    "signed_out": "You are signed out.",
    "claimed": "The key is claimed.",
    "sent_already": "That form was sent already; nothing was done twice.",
}
