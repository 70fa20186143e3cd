"""What people do with a whole account: export what is stored about it, and delete it."""
