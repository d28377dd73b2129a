"""The search for the smallest sets that end a game."""
