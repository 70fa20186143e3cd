"""Tests of the mail sender, and of how mails are rendered and delivered."""
