"""Markov random fields and belief propagation; usable alone."""
