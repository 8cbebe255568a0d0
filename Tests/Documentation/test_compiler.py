"""Forms that Swift's compiler accepts and compiles wrongly are not in the sources."""

import re
import unittest

from program import ROOT

NONCOPYABLE = re.compile(r"\b(?:struct|enum) \w+[^{\n]*~Copyable[^{]*\{")
INIT = re.compile(r"^ *(?:\w+ )*init\??(?=[(<])", re.M)
FIELD = re.compile(r"(?:let|var) (\w+)\b")
LOCAL = re.compile(r"(?:let|var|for) (\w+)\b")
AUTOCLOSURE = re.compile(r"(?:\?\?|&&|\|\|)\s*[^\n]*")
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*')


def block(text, start):
    """The text from `start`, behind a brace, up to the one that closes it."""
    depth = 1
    for end in range(start, len(text)):
        depth += (text[end] == "{") - (text[end] == "}")
        if depth == 0:
            return text[start:end]
    return text[start:]


def captures(text):
    """The lines of noncopyable types' `init`s in which an autoclosure uses a field, by `self` or by its name."""
    text = STRING.sub('""', text)
    for opening in NONCOPYABLE.finditer(text):
        body = block(text, opening.end())
        flat = re.sub(r"\{[^{}]*\}", "", body)
        while flat != (flat := re.sub(r"\{[^{}]*\}", "", flat)):
            pass
        fields = set(FIELD.findall(flat))
        for found in INIT.finditer(body):
            begin = body.find("{", found.end())
            local = set(re.findall(r"(\w+):", body[found.end() : begin]))
            code = block(body, begin + 1)
            local |= set(LOCAL.findall(code))
            for right in AUTOCLOSURE.findall(code):
                if {"self", *(fields - local)} & set(re.findall(r"(?<![\w.])\w+", right)):
                    yield right


class Compiler(unittest.TestCase):
    def test_no_autoclosure_uses_a_field_in_the_init_of_a_noncopyable_type(self):
        """Swift 6.3.1 takes each field that is set after it for one that was set before: it releases what was in that
        memory, which no optimised build survives."""
        found = [
            (str(path.relative_to(ROOT)), line)
            for path in (ROOT / "Sources").rglob("*.swift")
            for line in captures(path.read_text())
        ]
        self.assertEqual(found, [])

    def test_what_is_looked_for_is_found(self):
        text = "struct Run: ~Copyable {{\n let topics: Topics\n let bare: String\n init(_ given: String?, {}) {{\n bare = {} }}\n}}"
        for parameter, value, count in (
            ("all: Topics", "given ?? topics.events", 1),
            ("all: Topics", "given ?? self.topics.events", 1),
            ("all: Topics", "given ?? all.topics.events", 0),
            ("topics: Topics", "given ?? topics.events", 0),
        ):
            self.assertEqual(len(list(captures(text.format(parameter, value)))), count, value)


if __name__ == "__main__":
    unittest.main()
