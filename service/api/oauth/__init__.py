"""Authorization of clients by people (OAuth 2.1, as the Model Context Protocol uses it): the rules of what clients send."""
