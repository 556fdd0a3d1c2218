"""What a session comes to: numbers, tokens, cost, time, files."""
