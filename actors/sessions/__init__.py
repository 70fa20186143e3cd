"""Browser sessions: signed in by an emailed code, known by a cookie, listed and revoked by their owner."""
