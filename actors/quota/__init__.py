"""The quota accountant: caps per tenant are exact, limits per minute are local and approximate."""
