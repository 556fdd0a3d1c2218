"""Sessions, archives, names and machines that mean harm: what they may cost, and what they must never get."""
