"""What people do with a whole account: choose its mails, export what is stored about it, and delete it."""
