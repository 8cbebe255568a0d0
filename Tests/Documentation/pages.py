"""The blocks of a page: what a reader runs, what it shows, and which files he writes."""

import re
from typing import NamedTuple, Optional

from program import ROOT

# The pages that a newcomer reads, in this order and in one shell: there every ```sh block is run. `newcomer.py` does that.
NEWCOMER = [ROOT / "README.md", *(ROOT / "docs" / f"{name}.md" for name in ("first-run", "notify", "broadcasts", "delivery"))]

# Why a block of one of those pages is not run: the mark behind ```sh.
REASONS = {
    "docker": "needs Docker",
    "scripts": "builds the project, or runs all of its tests",
    "elsewhere": "needs another terminal, or what only the reader has, such as a cluster with a login",
    "last": "ends the try-out, so it is run after the last page",
}

FENCE = re.compile(r"^```(\w*)(?: ([^\n]*))?\n(.*?)^```\n(?:\n*^```text\n(.*?)^```$)?", re.M | re.S)
SHELLS = {"bash", "shell", "zsh", "console"}


class Step(NamedTuple):
    """One block of a page."""

    line: int
    # `run`, `last` or `file`.
    kind: str
    # Of a file.
    name: Optional[str]
    text: str
    # What the page says that the block prints.
    shown: Optional[str]


def steps(page):
    """The blocks of a page that are run or written, in order."""
    text = page.read_text()
    found = []
    for match in FENCE.finditer(text):
        language, mark, body, shown = match.groups()
        where = f"{page.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}"
        line = int(where.rpartition(":")[2])
        if language in SHELLS:
            raise SystemExit(f"{where}: ```{language} is not known here: write ```sh")
        if language == "sh" and runs(page, mark, where):
            found.append(Step(line, "last" if mark == "last" else "run", None, body, shown))
        elif language != "sh" and mark:
            name = re.fullmatch(r"file=(\S+)", mark)
            if not name:
                raise SystemExit(f"{where}: ```{language} {mark} means nothing")
            found.append(Step(line, "file", name.group(1), body, None))
    return found


def runs(page, mark, where):
    """Whether a ```sh block with this mark is run."""
    if page in NEWCOMER:
        if mark and mark not in REASONS:
            raise SystemExit(
                f"{where}: ```sh {mark} means nothing: every block of this page is run, except ```sh with {list(REASONS)}"
            )
        return not mark or mark == "last"
    if mark and mark != "run":
        raise SystemExit(f"{where}: ```sh {mark} means nothing: ```sh run is run, ```sh is not")
    return mark == "run"


def matches(shown, printed):
    """Whether the output is what the page shows: `…` is anything within a line, a line of `…` any number of lines."""
    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == "…" else r"[^\n]*".join(map(re.escape, line.split("…"))) + r"\n"
        for line in shown.splitlines()
    )
    return re.fullmatch(pattern, printed if printed.endswith("\n") or not printed else printed + "\n") is not None
