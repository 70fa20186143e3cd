"""The stores over Postgres, by concern."""
