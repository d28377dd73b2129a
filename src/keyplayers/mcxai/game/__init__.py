"""The two games: states of masked players and what the model says of them."""
