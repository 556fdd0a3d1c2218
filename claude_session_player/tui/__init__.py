"""Full-screen programs for the terminal: the player, the list of sessions, and the list of running sessions."""
