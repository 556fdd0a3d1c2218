"""Helpers that know nothing of sessions: text, times, files, directories, the terminal."""
