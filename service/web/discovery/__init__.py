"""Documents by which programs find the service: for agents, crawlers, OAuth clients and people who report vulnerabilities."""
