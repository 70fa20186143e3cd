"""What a person sees, and the documents and scripts that are served beside the operations."""
