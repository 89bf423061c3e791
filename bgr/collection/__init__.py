"""The textual database that retrievers search: texts, words (BM25), vectors and triples, in a folder or in memory."""
