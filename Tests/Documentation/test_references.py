"""What the sources and pages point to is there: cited sections of the rules, links, and paths."""

import re
import subprocess
import unittest

from program import ROOT

DOCS = ROOT / "docs"


def tracked(*folders):
    """The files of the project below these folders, as git has them, with what is new."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", *folders], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [path for line in listed.stdout.splitlines() if (path := ROOT / line).is_file()]


def text_of(path):
    """A source file with comments that run over several lines joined, so that a citation is on one."""
    return re.sub(r"\n\s*(///?|#|\*)?\s*", " ", path.read_text(errors="replace"))


def sections(page):
    """What can be cited of a page: headings (`5.2`, `What the mock cluster cannot show`), bold words that begin a paragraph
    or list entry, rows of §5.3, numbered rules and findings."""
    text = (DOCS / page).read_text()
    found = set()
    for heading in re.findall(r"^#+ (.*)", text, re.M):
        number, name = re.match(r"(\d+(?:\.\d+)?)?\.? ?(.*)", heading).groups()
        found |= {f"§{number}", name.lower()}
    found |= {word.strip("`.").lower() for word in re.findall(r"^(?:- )?\*\*([^*]+?)\*\*", text, re.M)}
    found |= {f"row {number}" for number in re.findall(r"^\| (\d+) \| ", text, re.M)}
    found |= {f"rule {number}" for number in re.findall(r"^(\d+)\. ", text, re.M)}
    return found


# Each way in which a comment cites a page: the page, and the pattern whose groups are sections, rows, rules or names.
# A path in a string is no citation.
CITATION = re.compile(
    r"(?<!\")docs/(?P<page>rules|kafka|code)\.md(?P<what>"
    r"(?:,? ?(?:and |to )?(?:§\d+(?:\.\d+)?|row \d+|finding \d+|\d+\b(?! 000)|\"[^\"]+\")|: \"[^\"]+\")+)"
)
PAGES = {"rules": "rules.md", "kafka": "kafka.md", "code": "code.md"}


def citations(text):
    """(page, cited section) of a source's text."""
    for match in CITATION.finditer(text):
        page = PAGES[match["page"]]
        for section, row, finding, rule, name in re.findall(
            r"(§\d+(?:\.\d+)?)|row (\d+)|finding (\d+)|(?<![\d.§])(\d+)\b|\"([^\"]+)\"", match["what"]
        ):
            if section:
                yield page, section
            elif row:
                yield page, f"row {row}"
            elif finding or rule:
                yield page, f"rule {finding or rule}"
            else:
                yield page, name.rstrip(",.").lower()


class Citations(unittest.TestCase):
    def test_every_cited_section_is_on_its_page(self):
        known = {page: sections(page) for page in PAGES.values()}
        missing, count = [], 0
        for path in tracked("Sources", "Tests", "Scripts", "Benchmarks", "Examples", "Package.swift"):
            if path.parent.name == "Documentation":
                continue
            for page, section in citations(text_of(path)):
                count += 1
                if section not in known[page]:
                    missing.append(f"{path.relative_to(ROOT)} cites {section!r} of docs/{page}")
        self.assertEqual(missing, [])
        self.assertGreater(count, 100)

    def test_the_ways_to_cite_are_understood(self):
        for text, expected in (
            ("(docs/rules.md §5.3 row 2).", [("rules.md", "§5.3"), ("rules.md", "row 2")]),
            ("(docs/rules.md §0, finding 9)", [("rules.md", "§0"), ("rules.md", "rule 9")]),
            ("(docs/rules.md §1.3, §2.3, §7)", [("rules.md", "§1.3"), ("rules.md", "§2.3"), ("rules.md", "§7")]),
            ('docs/rules.md §5.2, "Event time"', [("rules.md", "§5.2"), ("rules.md", "event time")]),
            ("(docs/kafka.md 19): the end", [("kafka.md", "rule 19")]),
            ('docs/kafka.md, "A full queue sleeps".', [("kafka.md", "a full queue sleeps")]),
            ('(docs/code.md §6, "Slots")', [("code.md", "§6"), ("code.md", "slots")]),
            ('(docs/code.md: "Contracts", notifications.journal)', [("code.md", "contracts")]),
            ('read("docs/code.md") and "Slots"', []),
        ):
            self.assertEqual(list(citations(text)), expected, text)


class Links(unittest.TestCase):
    PAGES = (*sorted(ROOT.glob("*.md")), ROOT / "Tests/README.md", *sorted(DOCS.rglob("*.md")))

    def test_every_link_leads_somewhere(self):
        missing = []
        for page in self.PAGES:
            for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
                if not target.startswith("http") and not (page.parent / target).exists():
                    missing.append(f"{page.relative_to(ROOT)}: {target}")
        self.assertEqual(missing, [])

    def test_every_anchor_is_a_heading(self):
        missing = []
        for page in self.PAGES:
            for target, anchor in re.findall(r"\]\(([^)#\s]*)#([^)]*)\)", page.read_text()):
                if target.startswith("http"):
                    continue
                headings = re.findall(r"^#+ (.*)", (page.parent / target if target else page).read_text(), re.M)
                slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
                if anchor not in slugs:
                    missing.append(f"{page.relative_to(ROOT)}: {target}#{anchor}")
        self.assertEqual(missing, [])

    def test_paths_in_backquotes_are_there(self):
        missing = []
        for page in self.PAGES:
            for path in re.findall(r"`((?:Sources|Tests|Scripts|Examples|Schemas|Benchmarks|docs)/[\w./+-]+)`", page.read_text()):
                if not (ROOT / path).exists():
                    missing.append(f"{page.relative_to(ROOT)}: {path}")
        self.assertEqual(missing, [])

    def test_the_paths_of_the_code_page_are_there(self):
        text = (DOCS / "code.md").read_text()
        flow = text[text.index("## 2. One event") : text.index("## 3. ")]
        paths = re.findall(r"`((?:[\w+]+/)+[\w+]+\.swift)`", flow)
        self.assertEqual([path for path in paths if not (ROOT / "Sources" / path).exists()], [])
        self.assertGreater(len(paths), 6)

    def test_the_code_page_names_what_is_in_the_code(self):
        """Types and functions in backquotes are words of the sources."""
        words = {path.name for path in ROOT.iterdir()}
        for path in (ROOT / "Sources").rglob("*.swift"):
            words |= set(re.findall(r"\w+", path.read_text())) | {path.parent.name}
        text = re.sub(r"```.*?```", "", (DOCS / "code.md").read_text(), flags=re.S)
        named = re.findall(r"`([A-Za-z]\w*(?:\.\w+)*)(?:\([a-z:]*\))?`", text)
        names = [name for name in named if re.search(r"[a-z][A-Z]|^[A-Z][a-z]\w+$", name)]
        missing = [name for name in names if not name.endswith(".swift") and not set(name.split(".")) <= words]
        self.assertEqual(missing, [])
        self.assertGreater(len(names), 60)

    def test_a_new_provider_takes_fifteen_files_of_the_code_at_most(self):
        recipe = (ROOT / "docs/code.md").read_text().partition("**A new provider**")[2].partition("\n**")[0]
        named = re.findall(r"`(Sources/[^`]+\.swift)`", recipe)
        self.assertLessEqual(len(named), 15)
        self.assertEqual([each for each in named if not (ROOT / each).is_file()], [])
        asks = re.compile(r"\bcase \.(fcm|apns)\b|[=!]= (Platform)?\.(fcm|apns)\b|[^\w?]\.(fcm|apns) [=!]=")
        elsewhere = [
            str(path.relative_to(ROOT))
            for path in sorted((ROOT / "Sources").rglob("*.swift"))
            if asks.search(path.read_text()) and str(path.relative_to(ROOT)) not in named
        ]
        self.assertEqual(elsewhere, [])

    def test_no_merge_is_unfinished(self):
        for page in self.PAGES:
            self.assertIsNone(re.search(r"^(<{7}|>{7}) ", page.read_text(), re.M), page)

    def test_pages_speak_to_a_person_for_two_screens_before_their_reference(self):
        for name in ("notify", "broadcasts", "delivery", "receiving", "operating"):
            with self.subTest(name):
                lines = (DOCS / f"{name}.md").read_text().splitlines()
                self.assertLessEqual(lines.index("## Reference"), 100)
                self.assertTrue(any(line.startswith("This page supposes ") for line in lines[:6]))

    def test_every_page_is_in_the_index(self):
        index = (DOCS / "README.md").read_text()
        for page in sorted(DOCS.glob("*.md")):
            if page.name != "README.md":
                self.assertIn(f"({page.name})", index)

    def test_every_document_has_its_rules_and_tests(self):
        page = (DOCS / "rules.md").read_text()
        rows = re.findall(r"^\| (\d): .* \| (.*) \| (.*) \|$", page[page.index("## 15. ") :], re.M)
        self.assertEqual([number for number, _, _ in rows], list("12345"))
        known = sections("rules.md")
        for number, rules, tests in rows:
            with self.subTest(number):
                self.assertLessEqual(set(rules.split(", ")), known)
                self.assertGreater(len(re.findall(r"\]\(\.\./Tests/", tests)), 2)


if __name__ == "__main__":
    unittest.main()
