"""The Model Context Protocol: the same operations as tools of agents."""
