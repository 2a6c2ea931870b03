"""Errors of commands: one sentence, a hint, a documented exit code.

| Code | Meaning |
| --- | --- |
| 0 | done |
| 1 | failed, with a message |
| 2 | wrong usage; for `plan`: there are changes |
| 130 | interrupted |
| 141 | the reader of the output has closed it, as `head` does |
"""

import traceback

from cobaltcore.cli import output
from cobaltcore.runtime.errors import RuntimeFault

FAILED = 1
INTERRUPTED = 130
READER_GONE = 141


class CommandError(Exception):
    """A command cannot be carried out; the message is for the user."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def report(error: BaseException, *, debug: bool) -> int:
    """Print an error; return the exit code."""
    if debug:
        output.note("".join(traceback.format_exception(error)))
    if isinstance(error, BaseExceptionGroup):
        return report(error.exceptions[0], debug=False)
    if isinstance(error, KeyboardInterrupt):
        output.note("interrupted")
        return INTERRUPTED
    expected = isinstance(error, CommandError | RuntimeFault)
    message = str(error) or type(error).__name__
    output.note(f"error: {message if expected else f'{type(error).__name__}: {message}'}")
    hint = getattr(error, "hint", "") or ("" if expected else "run again with --debug for details")
    if hint:
        output.note(f"\nhint: {hint}")
    return FAILED
