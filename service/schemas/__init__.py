"""Wire models by resource: pydantic models that validate requests and describe responses. They know no handler."""
