"""A campaign against the whole package: kills, damaged files, malformed replies, full disks, little memory.

`python -m tests.campaign` runs it and writes a table; docs/trust.md describes it. No product code is in here.
"""
