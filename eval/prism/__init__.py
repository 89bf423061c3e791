"""PRISM measured: evidence sets, answers by context, rounds, errors and ablations."""
