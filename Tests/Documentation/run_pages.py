"""Runs what the pages of docs/ tell a reader to run, and compares what they show.

A fenced block that begins with ```sh run is pasted into a terminal as it stands; one that begins with ```sh only is not. The blocks
of a page run one after the other in one shell, in an empty folder that has Examples/ in it. A ```text block right after one is what
it prints on standard output: `…` stands for anything within a line, a line of `…` for any number of lines. Any other fenced block
with a name, as ```properties file=cluster.properties, is a file that the reader has to write. The pages for newcomers are run by
`newcomer.py`, all in one shell.

Needs `carillon` (the one that CARILLON names) and KAFKA_HOME: each page that speaks of KAFKA_BOOTSTRAP_SERVERS gets a broker of its
own, since pages use the default names of topics and group, and show what an empty one shows.
"""

import argparse
import contextlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from pages import NEWCOMER, matches, steps
from program import ROOT, carillon
from terminal import Terminal


@contextlib.contextmanager
def broker(page):
    """The address of an empty broker where the page needs one, else None."""
    if not any("KAFKA_BOOTSTRAP_SERVERS" in step.text for step in steps(page)):
        yield None
        return
    script = ROOT / "Scripts/kafka"
    with tempfile.TemporaryDirectory(prefix="carillon-kafka.") as folder:
        try:
            yield subprocess.run([script, "start", folder], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        finally:
            subprocess.run([script, "kill", folder], check=True)


def problem_of(step, result, seconds):
    """What is wrong with a block's result, None where it is what the page says."""
    if result.code is None:
        return f"did not end within {seconds:.0f} s"
    if result.code != 0:
        return f"ended with {result.code}"
    if missing := re.search(r".*(?:command not found|no such command).*", result.screen):
        return missing.group()
    if step.shown is not None and not matches(step.shown, result.output):
        return f"the page shows something else:\n{step.shown}"
    return None


class Failure(Exception):
    """What a reader would have stumbled over."""


class Reader:
    """Does what blocks say: pastes commands into `terminal`, and writes files into `folder`, where the terminal is."""

    def __init__(self, terminal, folder, options):
        self.terminal, self.folder, self.options = terminal, folder, options

    def follow(self, page, found):
        """What the blocks `found` of a page print. The first that is not as the page says is a `Failure`."""
        printed = ""
        for step in found:
            if step.kind == "file":
                (self.folder / step.name).write_text(step.text)
                continue
            where = f"{page.relative_to(ROOT)}:{step.line}"
            began = time.monotonic()
            result = self.terminal.paste(step.text, self.options.seconds)
            if self.options.verbose:
                print(f"-- {where}: {result.code}, {time.monotonic() - began:.1f} s\n{step.text}{result.output}", flush=True)
            if problem := problem_of(step, result, self.options.seconds):
                raise Failure(f"{where}: {problem}\n-- it printed\n{result.output}-- and on the terminal\n{result.screen}")
            printed += result.output
        return printed


def run_page(page, options):
    """Follows a page with a broker, a shell and a folder of its own."""
    with (
        broker(page) as bootstrap,
        tempfile.TemporaryDirectory(prefix="carillon-page.") as name,
        tempfile.TemporaryDirectory(prefix="carillon-home.") as home,
    ):
        folder, home = pathlib.Path(name), pathlib.Path(home)
        binaries = home / "bin"
        binaries.mkdir()
        (binaries / "carillon").symlink_to(pathlib.Path(carillon()).resolve())
        (folder / "Examples").symlink_to(ROOT / "Examples")
        variables = {"PATH": f"{binaries}:{os.environ['PATH']}"}
        if bootstrap:
            variables["KAFKA_BOOTSTRAP_SERVERS"] = bootstrap
        terminal = Terminal(folder, home, variables)
        try:
            Reader(terminal, folder, options).follow(page, steps(page))
        finally:
            terminal.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", type=pathlib.Path, help="pages; all of docs/ that have something to run")
    parser.add_argument("--seconds", type=float, default=90, help="how long one block may take")
    parser.add_argument("--verbose", action="store_true", help="show commands and their output")
    options = parser.parse_args()
    every = [page for page in sorted((ROOT / "docs").rglob("*.md")) if page not in NEWCOMER]
    pages = [page.resolve() for page in options.pages] or every
    if others := [page.name for page in pages if page in NEWCOMER]:
        parser.error(f"Tests/Documentation/newcomer runs {', '.join(others)}")
    failures = 0
    for page in pages:
        count = sum(step.kind == "run" for step in steps(page))
        if not count:
            continue
        began = time.monotonic()
        failure = None
        try:
            run_page(page, options)
        except Failure as found:
            failure = found
        print(
            f"{'FAILED' if failure else 'passed'}  {page.relative_to(ROOT)}: {count} blocks, {time.monotonic() - began:.0f} s",
            flush=True,
        )
        if failure:
            failures += 1
            print(failure, flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
