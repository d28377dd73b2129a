"""GraphShapley: which variables made a Markov random field believe what it believes of a target."""
