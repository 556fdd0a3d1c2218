"""`python -m claude_session_player` is the command line."""

from claude_session_player.cli import main

main()
