"""Fuzzing: malformed and unusual sessions through every command. `make fuzz` runs it."""
