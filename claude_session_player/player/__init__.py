"""A session as a film: frames, their time, and a player whose clock is given to it."""
