"""Slow, independent twins of the algorithms, in plain Python. They share no code with the package."""
