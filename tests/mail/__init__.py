"""Tests of the mail sender and of what letters say and how they leave."""
