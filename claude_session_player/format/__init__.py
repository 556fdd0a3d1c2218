"""What a record of a session file is: all knowledge of the format."""
