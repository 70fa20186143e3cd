"""Pages that anyone can see: the catalog, advertising, and links of mails."""
