"""The README is read at once, and its pictures are what their script draws."""

import re
import unittest
import xml.etree.ElementTree as ElementTree

from picture import pictures
from program import ROOT

TEXT = (ROOT / "README.md").read_text()


class Readme(unittest.TestCase):
    def test_it_has_at_most_120_lines_and_900_words_whatever_they_are(self):
        self.assertLessEqual(len(TEXT.splitlines()), 120)
        self.assertLessEqual(len(TEXT.split()), 900)

    def test_its_tables_have_at_most_four_columns(self):
        tables = re.findall(r"^\|(.*)\|$", TEXT, re.M)
        self.assertGreater(len(tables), 2)
        self.assertEqual([row for row in tables if len(re.findall(r"(?<!\\)\|", row)) > 3], [])

    def test_it_names_no_document_by_its_number(self):
        self.assertIsNone(re.search(r"\bdocuments? \d", TEXT, re.I))

    def test_it_shows_the_flow_and_the_speed(self):
        self.assertEqual(re.findall(r"!\[[^\]]{40,}\]\(([^)]*)\)", TEXT), ["docs/flow.svg", "docs/speed.svg"])


class Pictures(unittest.TestCase):
    def test_each_is_what_the_script_draws(self):
        for path, content in pictures():
            self.assertEqual(path.read_text(), content, f"Tests/Documentation/picture.py writes {path.name}")

    def test_each_has_colours_for_dark_pages_and_says_in_words_what_it_shows(self):
        for path, content in pictures():
            root = ElementTree.fromstring(content)
            words = {each.get("id"): each.text for each in root if each.get("id")}
            self.assertEqual(sorted(words), sorted(root.get("aria-labelledby").split()), path.name)
            self.assertIn("@media (prefers-color-scheme: dark)", content, path.name)


if __name__ == "__main__":
    unittest.main()
