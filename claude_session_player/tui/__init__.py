"""Windows for people, in the terminal. They show what `play` and `store` know, and know nothing themselves."""
