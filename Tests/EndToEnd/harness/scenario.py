"""Scenarios: tests that each have a sentence, run by name, one after another or in the background, each with worlds of its own."""

import argparse
import contextlib
import os
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from harness.harness import Harness
from harness.seed import parse
from harness.waiting import Failure, Skipped


class Scenario(NamedTuple):
    sentence: str
    # Is called with the harness, or with what the module's `around` makes of it.
    function: Callable
    # Whether it mostly waits, and so runs beside the others.
    is_background: bool

    @property
    def name(self):
        return self.function.__name__


def scenario(sentence, background=False):
    """Makes a scenario of a function; the function's name is what `--only` looks for."""
    return lambda function: Scenario(sentence, function, background)


def main(name, description, namespace, around=contextlib.nullcontext, sizes=None):
    """The command line of a module of scenarios, which are those in its namespace.

    `around` is a context manager that they all run in; it is given the harness, and the scenarios are given what it makes.
    `sizes` are numbers of the module's own, each with an option that changes it. The exit code is 0 where at least one scenario
    was chosen and none failed.
    """
    sizes = sizes or {}
    parser = argparse.ArgumentParser(prog=f"Tests/EndToEnd/run {name}", description=description)
    parser.add_argument("--only", default="", help="scenarios whose function has one of these in its name, with commas between")
    for size, number in sizes.items():
        parser.add_argument(f"--{size}", type=int, default=number, help=f"default: {number:,}")
    options = parse(parser)
    chosen = [
        each
        for each in namespace.values()
        if isinstance(each, Scenario) and any(part in each.name for part in options.only.split(","))
    ]
    harness = Harness(options.seed, os.environ, options)
    results = []
    try:
        with around(harness) as given:
            _run(chosen, given, results)
    finally:
        # A scenario that did not come to its end has failed, too.
        failed = len(chosen) - len(results) + results.count("FAILED")
        harness.close(passed=not failed)
    skipped = results.count("SKIPPED")
    print(f"{results.count('ok')} passed, " + (f"{skipped} skipped, " if skipped else "") + f"{failed} failed", flush=True)
    return 1 if failed or not chosen else 0


def _run(chosen, given, results):
    threads = [
        threading.Thread(target=lambda each=each: results.append(_perform(each, given))) for each in chosen if each.is_background
    ]
    for thread in threads:
        thread.start()
    for each in chosen:
        if not each.is_background:
            results.append(_perform(each, given))
    for thread in threads:
        thread.join()


def _perform(each, given):
    began = time.monotonic()
    try:
        each.function(given)
        outcome, reason = "ok", ""
    except Skipped as skipped:
        outcome, reason = "SKIPPED", f": {skipped}"
    except Failure as failure:
        outcome, reason = "FAILED", f": {failure}"
    except Exception as error:  # A test that breaks is a test that fails; the others still run.
        outcome, reason = "FAILED", f": {type(error).__name__}: {error}"
    print(f"{time.monotonic() - began:6.1f} s  {each.sentence}: {outcome}{reason}", flush=True)
    return outcome
