"""A folder of explanations: written by one, read by many, whatever happens meanwhile."""
