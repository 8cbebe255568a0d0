"""Waiting for a condition, always with a deadline; and what a test says where it is not met."""

import threading
import time

# How much longer than on a quiet machine everything may take. Deadlines end a test that hangs; what has to be fast is measured.
PATIENCE = 3


class Failure(Exception):
    """A test's expectation that did not hold; the text says which."""


class Skipped(Exception):
    """What a test needs is not there; the text says what."""


def now_ms():
    """The time of the wall clock, in milliseconds since 1970."""
    return int(time.time() * 1000)


def pause(seconds=0.05):
    """Only between two looks at a condition that has a deadline."""
    threading.Event().wait(seconds)


def wait_for(what, condition, seconds=60):
    """The condition's first true value; at the deadline a failure that names `what`."""
    seconds *= PATIENCE
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise Failure(f"not within {seconds} s: {what}")
        pause()
    return value


def expect(what, found, expected):
    if found != expected:
        raise Failure(f"{what}: {found}, expected {expected}")
