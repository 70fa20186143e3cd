"""The quota accountant: caps per tenant are exact, limits per minute are shared by the nodes and approximate."""
