"""Operations on a whole account: choosing its mails, exporting its data, and deleting it."""
