"""Pages about this node, and pages that only this machine can see."""
