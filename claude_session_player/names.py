"""What the program is called."""

PROGRAM = "claude-session-player"
