"""Connections to other services: SMTP, WebAuthn, and webhooks posted to checked addresses. Knows no actor's behaviour."""
