"""Words that are known everywhere: the program's name, and the one for the last session."""

PROGRAM = "claude-session-player"
LATEST = "latest"
