"""Retrievers of this package in other libraries: `langchain`, `llamaindex` and `haystack`, each with its own extra."""
