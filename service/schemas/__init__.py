"""What goes over the wire, by group: pydantic models that validate requests and describe answers. Know no handler."""
