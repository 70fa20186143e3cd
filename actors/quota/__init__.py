"""The quota accountant. Caps per tenant are exact; limits per minute are shared by the nodes and approximate."""
