"""docs/troubleshooting.md against the sources: every message quoted in a heading exists, and every message that can end the
program has a heading."""

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


def endings():
    """(file, text) of every message that ends the program: errors of the pipeline, of commands and of the store, advice of Kafka
    errors."""
    makers = (
        r"\.(?:instanceInUse|defect|unplaceableRecord|notDrained|notAuthorized|decisionNeeded)\(\s*",
        r"CommandFailure\(\s*\.\w+,\s*(?:lines:\s*)?",
        r"self\.init\(\s*\.(?:damaged|diskFull|storeFull|system),\s*",
        r"ReplayRefusal\(\s*",
    )
    for path in sorted((ROOT / "Sources").rglob("*.swift")):
        # Release builds have no fault points; the mock cluster is for tests.
        if path.name == "FaultPoint.swift" or path.parts[-2] == "Mock":
            continue
        text = path.read_text()
        for maker in makers:
            for match in re.findall(rf"{maker}({SENTENCE})", text):
                yield path.name, sentence(match)
    move = (ROOT / "Sources/carillon/Offsets/OffsetMove.swift").read_text()
    for match in re.findall(rf"problems\.append\(\s*({SENTENCE})", move):
        yield "OffsetMove.swift", sentence(match)
    advice = (
        (ROOT / "Sources/KafkaClient/Errors/KafkaError+Sentences.swift").read_text().split("func advice")[1].split("\n    }\n")[0]
    )
    for match in re.findall(rf"(?:return|:)\s+({LITERAL})", advice):
        yield "KafkaError+Sentences.swift", sentence(match)


class Messages(unittest.TestCase):
    def test_every_heading_is_a_message_of_the_program(self):
        texts = sentences()
        missing = [heading for heading in HEADINGS if not any(is_in(heading, text) for text in texts)]
        self.assertEqual(missing, [])
        self.assertGreater(len(HEADINGS), 60)

    def test_every_message_that_ends_the_program_has_a_heading(self):
        found = list(endings())
        missing = [
            f"{name}: {text}"
            for name, text in found
            if len(text.replace("…", "").strip()) > 3 and not any(is_in(heading, text) for heading in HEADINGS)
        ]
        self.assertEqual(missing, [])
        self.assertGreater(len(found), 40)

    def test_headings_are_not_so_short_that_they_fit_everything(self):
        for heading in HEADINGS:
            self.assertGreaterEqual(sum(map(len, fragments(heading))), 15, heading)


if __name__ == "__main__":
    unittest.main()
