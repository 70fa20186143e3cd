"""API keys: minted, claimed by email, issued, revoked, and resolved to the caller who presents one."""
