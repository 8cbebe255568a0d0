"""Runs what the pages of docs/ tell a reader to run, and compares what they show.

A fenced block that begins with ```sh run is run as it stands; one that begins with ```sh only is not. The blocks of a page run
one after the other in one shell, in an empty folder that has Examples/ in it. A ```text block right after one is what it
prints on standard output: `…` stands for anything within a line, a line of `…` for any number of lines. Any other fenced block with
a name, as ```properties file=cluster.properties, is a file that the reader has to write.

Needs `carillon` (the one that CARILLON names) and KAFKA_HOME: each page that speaks of KAFKA_BOOTSTRAP_SERVERS gets a broker of its
own, since pages use the default names of topics and group, and show what an empty one shows.
"""

import argparse
import contextlib
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple, Optional

from program import ROOT, carillon

FENCE = re.compile(r"^```(\w*)(?: ([^\n]*))?\n(.*?)^```\n(?:\n*^```text\n(.*?)^```$)?", re.M | re.S)


class Step(NamedTuple):
    """One block of a page."""

    line: int
    # `run` or `file`.
    kind: str
    # Of a file.
    name: Optional[str]
    text: str
    # What the page says that the block prints.
    shown: Optional[str]


def steps(page):
    text = page.read_text()
    found = []
    for match in FENCE.finditer(text):
        language, mark, body, shown = match.groups()
        line = text.count("\n", 0, match.start()) + 1
        if language == "sh" and mark == "run":
            found.append(Step(line, "run", None, body, shown))
        elif mark and (name := re.fullmatch(r"file=(\S+)", mark)):
            found.append(Step(line, "file", name.group(1), body, None))
        elif mark:
            raise SystemExit(f"{page.name}:{line}: ```{language} {mark} means nothing")
    return found


def matches(shown, printed):
    """Whether the output is what the page shows."""
    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == "…" else r"[^\n]*".join(map(re.escape, line.split("…"))) + r"\n"
        for line in shown.splitlines()
    )
    return re.fullmatch(pattern, printed if printed.endswith("\n") or not printed else printed + "\n") is not None


class Shell:
    """One bash that runs block after block. Output goes into files, so that a daemon in the background blocks nothing."""

    def __init__(self, folder, bootstrap):
        self.folder = folder
        binaries = folder / ".bin"
        binaries.mkdir()
        (binaries / "carillon").symlink_to(pathlib.Path(carillon()).resolve())
        (folder / "Examples").symlink_to(ROOT / "Examples")
        environment = {"PATH": f"{binaries}:{os.environ['PATH']}", "HOME": str(folder), "LANG": "C.UTF-8", "TMPDIR": str(folder)}
        if bootstrap:
            environment["KAFKA_BOOTSTRAP_SERVERS"] = bootstrap
        # The shell writes the exit code of each block into a pipe.
        self.codes, self.code_of_block = os.pipe()
        self.process = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            text=True,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(self.code_of_block,),
        )
        os.close(self.code_of_block)

    def run(self, text, seconds):
        """(exit code or None where it did not end, output, errors)."""
        output, errors = (self.folder / f".{name}" for name in ("output", "errors"))
        pipe = self.code_of_block
        self.process.stdin.write(f"{{\n{text}\n}} >{output} 2>{errors} {pipe}>&-\nprintf '%s\\n' $? >&{pipe}\n")
        self.process.stdin.flush()
        ready, _, _ = select.select([self.codes], [], [], seconds)
        # Nothing where the shell has ended.
        code = os.read(self.codes, 16) if ready else b""
        return int(code) if code else None, output.read_text(errors="replace"), errors.read_text(errors="replace")

    def close(self):
        os.close(self.codes)
        os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(15)
        finally:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


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


def run_page(page, seconds, verbose):
    """What went wrong, nothing where all is well."""
    with broker(page) as bootstrap, tempfile.TemporaryDirectory(prefix="carillon-page.") as name:
        folder = pathlib.Path(name)
        shell = Shell(folder, bootstrap)
        try:
            for step in steps(page):
                where = f"{page.relative_to(ROOT)}:{step.line}"
                if step.kind == "file":
                    (folder / step.name).write_text(step.text)
                    continue
                code, output, errors = shell.run(step.text, seconds)
                if verbose:
                    print(f"-- {where}: {code}\n{step.text}{output}", flush=True)
                problem = None
                if code is None:
                    problem = f"did not end within {seconds} s"
                elif code != 0:
                    problem = f"ended with {code}"
                elif step.shown is not None and not matches(step.shown, output):
                    problem = f"the page shows something else:\n{step.shown}"
                if problem:
                    return f"{where}: {problem}\n$ {step.text}{output}{errors}"
        finally:
            shell.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "pages", nargs="*", type=pathlib.Path, help="pages; all of docs/ that have something to run, and the README"
    )
    parser.add_argument("--seconds", type=float, default=90, help="how long one block may take")
    parser.add_argument("--verbose", action="store_true", help="show commands and their output")
    options = parser.parse_args()
    pages = [page.resolve() for page in options.pages] or [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    failures = 0
    for page in pages:
        count = sum(step.kind == "run" for step in steps(page))
        if not count:
            continue
        began = time.monotonic()
        failure = run_page(page, options.seconds, options.verbose)
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
