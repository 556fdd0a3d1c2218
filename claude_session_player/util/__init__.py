"""What knows nothing of sessions: text, times, files, directories, the terminal."""
