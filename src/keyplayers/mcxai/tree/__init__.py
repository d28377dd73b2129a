"""Monte Carlo tree search: select, expand, roll out, back up."""
