"""What both programs share at a terminal, as processes of the shell."""
