"""What is masked in what leaves the house, and what is not."""
