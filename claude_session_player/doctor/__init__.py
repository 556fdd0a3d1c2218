"""What is wrong with session files, and how to repair them."""
