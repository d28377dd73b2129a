"""The ground floor: nothing here is public, and nothing here knows what the library is about."""
