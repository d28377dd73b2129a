"""Potentials and priors from labels, and how well beliefs do on labels that were hidden."""
