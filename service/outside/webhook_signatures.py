"""Signing secrets and signatures of webhooks, as Standard Webhooks wants them. Pure.

The secret of a webhook derives from the server's secret and the webhook's id. So no secret is stored, and none is in a backup
or an export; all nodes know it; and a creation that is repeated returns the same.
"""

import hmac
from base64 import b64encode

PREFIX = "whsec_"


class WebhookSigner:
    """Knows the key from which the secrets of all webhooks derive."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def secret(self, webhook_id: str) -> str:
        """The secret that the owner of a webhook gets when it is created."""
        return PREFIX + b64encode(self._bytes(webhook_id)).decode()

    def sign(self, webhook_id: str, event_id: str, timestamp: int, body: bytes) -> str:
        """The value of `webhook-signature`. `timestamp` counts seconds since the epoch."""
        signed = b"%s.%d.%s" % (event_id.encode(), timestamp, body)
        return "v1," + b64encode(hmac.digest(self._bytes(webhook_id), signed, "sha256")).decode()

    def _bytes(self, webhook_id: str) -> bytes:
        return hmac.digest(self._key, webhook_id.encode(), "sha256")
