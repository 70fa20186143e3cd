"""Records as rows: the columns and tables of dataclasses, named SQL, and the journal of batch ids."""
