"""The nodes of one database: each beats, and reads how many others do. They share the limits that each counts in memory."""
