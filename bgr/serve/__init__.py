"""`bgr serve`: an HTTP API over checkpoints and collections, and a page that uses it."""
