"""Mutation testing of the rules and the kernel: whether a test notices each small change to them."""
