"""Makes the parts of the documentation that are made."""
