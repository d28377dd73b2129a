"""The engines, each of which plays the whole game."""
