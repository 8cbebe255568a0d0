"""A newcomer: clones the project, has it built, and pastes what the first pages say, block after block, into one shell.

The pages are those of `pages.NEWCOMER`, in that order, on one cluster of its own. The README is pasted three times while
the cluster is new and once more after all pages: each time it must show a push of its own that the provider accepted. The
first one must be there a minute after the program is built, the start of Kafka included. No page may leave a process or a
file behind.

Needs KAFKA_HOME and `carillon` (the one that CARILLON names), which is put where Scripts/demo leaves it.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from pages import NEWCOMER, steps
from program import ROOT, carillon
from run_pages import Failure, Reader
from terminal import Terminal

FIRST_PUSH_SECONDS = 60
README = NEWCOMER[0]


class Newcomer(Reader):
    """`folder` is a clone."""

    def paste(self, page, kind="run"):
        """Follows the blocks of a page that are of this kind; returns what they printed."""
        found = [step for step in steps(page) if (step.kind == "last") == (kind == "last")]
        if not found:
            return ""
        began = time.monotonic()
        printed = self.follow(page, found)
        name = page.relative_to(ROOT)
        print(f"passed  {name}: {len(found)} blocks, {time.monotonic() - began:.0f} s", flush=True)
        # What the last block has told to end may need a moment.
        if left := self.terminal.left(5):
            raise Failure(f"{name} leaves processes behind: {sorted(left.values())}")
        if files := git("status", "--porcelain", folder=self.folder):
            raise Failure(f"{name} leaves files behind:\n{files}")
        return printed

    def first_push(self):
        """Pastes the README; returns the ids of the messages that it shows."""
        printed = self.paste(README)
        ids = set(re.findall(r"\bmsg-\w+(?:-\w+)+", printed))
        if not ids or not re.search(r"\baccepted by (fcm|apns)\b", printed):
            raise Failure(f"README.md shows no push that was accepted:\n{printed}")
        return ids

    def another_push(self, seen):
        """The same once more: its messages must be others. Returns all that were seen."""
        ids = self.first_push()
        if again := seen & ids:
            raise Failure(f"README.md shows the same push again: {sorted(again)}")
        return seen | ids


def git(*arguments, folder):
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


def walk(newcomer, began):
    """The whole way, in order."""
    seen = newcomer.first_push()
    seconds = time.monotonic() - began
    print(f"        from the built program to the first accepted push: {seconds:.0f} s", flush=True)
    if seconds > FIRST_PUSH_SECONDS:
        raise Failure(f"the first accepted push took {seconds:.0f} s, more than {FIRST_PUSH_SECONDS} s")
    seen = newcomer.another_push(newcomer.another_push(seen))
    for page in NEWCOMER[1:]:
        newcomer.paste(page)
    newcomer.another_push(seen)
    for page in NEWCOMER:
        newcomer.paste(page, "last")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=90, help="how long one block may take")
    parser.add_argument("--verbose", action="store_true", help="show commands and their output")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="carillon-newcomer.") as name:
        home, clone = pathlib.Path(name) / "home", pathlib.Path(name) / "carillon"
        home.mkdir()
        git("clone", "-q", str(ROOT), str(clone), folder=ROOT)
        release = clone / ".build/release"
        release.mkdir(parents=True)
        (release / "carillon").symlink_to(pathlib.Path(carillon()).resolve())
        began = time.monotonic()
        # Where docs/first-run.md starts one: there it finds this one.
        kafka = [clone / "Scripts/kafka", "start", home / "carillon-kafka"]
        try:
            address = subprocess.run(kafka, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
            variables = {"KAFKA_BOOTSTRAP_SERVERS": address, "KAFKA_HOME": os.environ["KAFKA_HOME"]}
            terminal = Terminal(clone, home, variables)
            try:
                walk(Newcomer(terminal, clone, options), began)
            except Failure as failure:
                print(f"FAILED  {failure}", flush=True)
                return 1
            finally:
                terminal.close()
        finally:
            subprocess.run([ROOT / "Scripts/kafka", "kill", home / "carillon-kafka"], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
