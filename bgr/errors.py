"""Errors of the library. All derive from `BgrError`, so that a caller can catch every one of them."""


class BgrError(Exception):
    """An error that the user can fix. The message is one line: the problem, its place, and what is allowed."""


class DataError(BgrError):
    """A file or a record that cannot be used; the message names the file and the item."""


class ProgramError(BgrError):
    """A KoPL program that is malformed or cannot be executed; the message names the step."""


class GraphError(BgrError):
    """An evidence graph that breaks one of its constraints."""


class CheckpointError(BgrError):
    """A checkpoint folder that lacks a file, or whose weights do not fit its configuration."""
