"""Users' models behind one face, and where they are loaded from."""
