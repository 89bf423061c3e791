"""Triples of texts: extracted or imported, and their index (GEAR)."""
