"""The game: the ball, its coalitions, and what they are worth."""
