"""Graph-hop retrieval: question and facts in, evidence graph and answer out."""

__version__ = "0.1.0"
