"""docs/troubleshooting.md against the sources: every message quoted in a heading exists, and every message after which a person
must decide has a heading."""

import re
import unittest

from program import ROOT

PAGE = (ROOT / "docs/troubleshooting.md").read_text()
HEADINGS = [heading.replace("\\`", "`") for heading in re.findall(r"^### `(.*)`$", PAGE, re.M)]

LITERAL = r"\"(?:[^\"\\]|\\[^(]|\\\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\""
SENTENCE = rf"{LITERAL}(?:\s*\+\s*{LITERAL})*"


def sentence(source):
    """Swift string literals, joined by +, as one text with `…` for each interpolation."""
    text = "".join(literal[1:-1] for literal in re.findall(LITERAL, source))
    text = re.sub(r"\\\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)", "…", text)
    return text.replace('\\"', '"')


def sentences():
    """Every text of the sources that is written as one literal or several joined by +."""
    found = set()
    for path in sorted((ROOT / "Sources").rglob("*.swift")):
        text = re.sub(
            r'"""\n(.*?)\n\s*"""', lambda block: '"' + re.sub(r"\\?\n\s*", "", block[1]).strip() + '"', path.read_text(), flags=re.S
        )
        found |= {sentence(match) for match in re.findall(SENTENCE, text)}
    return found


def fragments(heading):
    return [part.strip() for part in heading.split("…") if part.strip()]


def is_in(heading, text):
    """Whether the heading's pieces stand in the text, in their order."""
    position = 0
    for part in fragments(heading):
        position = text.find(part, position)
        if position < 0:
            return False
    return True


def decisions():
    """(file, text) of every message after which a person must decide: errors of the pipeline that are made with `.decisionNeeded`.
    Every other message has its cause and cure in its own sentence."""
    for path in sorted((ROOT / "Sources").rglob("*.swift")):
        # Release builds have no fault points.
        if path.name == "FaultPoint.swift":
            continue
        for match in re.findall(rf"\.decisionNeeded\(\s*({SENTENCE})", path.read_text()):
            yield path.name, sentence(match)


class Messages(unittest.TestCase):
    def test_every_heading_is_a_message_of_the_program(self):
        texts = sentences()
        missing = [heading for heading in HEADINGS if not any(is_in(heading, text) for text in texts)]
        self.assertEqual(missing, [])
        self.assertGreater(len(HEADINGS), 40)

    def test_the_page_is_short_enough_to_be_read(self):
        """An entry is for a decision; a remedy is in the message itself."""
        self.assertLess(len(PAGE.split()), 3_500)

    def test_every_message_after_which_a_person_must_decide_has_a_heading(self):
        found = list(decisions())
        missing = [
            f"{name}: {text}"
            for name, text in found
            if len(text.replace("…", "").strip()) > 3 and not any(is_in(heading, text) for heading in HEADINGS)
        ]
        self.assertEqual(missing, [])
        self.assertGreater(len(found), 15)

    def test_headings_are_not_so_short_that_they_fit_everything(self):
        for heading in HEADINGS:
            self.assertGreaterEqual(sum(map(len, fragments(heading))), 15, heading)


if __name__ == "__main__":
    unittest.main()
