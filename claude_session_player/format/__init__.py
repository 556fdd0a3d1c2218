"""All knowledge of the session file format: what a record is, in every dialect."""
