"""What running sessions do now."""
