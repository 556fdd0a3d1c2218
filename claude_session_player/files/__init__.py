"""What happened to files in a session: which were touched, and what they held."""
