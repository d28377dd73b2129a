"""Explanations as pictures (extra "plots")."""
