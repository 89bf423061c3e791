"""The library's errors: one base class, so that a caller (or the command line) can catch them all."""


class BgrError(Exception):
    """Anything the user can mend. The message is one line: what is wrong, where, and what is allowed."""


class DataError(BgrError):
    """A file or a record that cannot be used; the message names the file and the item."""


class ProgramError(BgrError):
    """A KoPL program that is malformed or cannot be executed; the message names the step."""


class GraphError(BgrError):
    """An evidence graph that breaks one of its constraints."""


class CheckpointError(BgrError):
    """A checkpoint folder that lacks a file, or whose weights do not fit its configuration."""
