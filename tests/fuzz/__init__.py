"""Fuzzing: sessions that nobody would write, through every command. `make fuzz` runs it."""
