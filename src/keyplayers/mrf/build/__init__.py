"""Whatever people bring, made into the arrays of a field."""
