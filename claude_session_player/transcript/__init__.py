"""What was said in a session, by whom and in which order: forks, compactions, sub-agents where they were called."""
