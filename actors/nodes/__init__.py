"""The nodes of one database. Each sends heartbeats and counts the others, to share the limits counted in memory."""
