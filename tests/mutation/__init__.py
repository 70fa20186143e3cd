"""Mutation testing of the rules and the kernel: whether a test detects each small change to them."""
