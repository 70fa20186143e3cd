"""Browser sessions: started with an emailed code, identified by a cookie, listed and revoked by their owner."""
