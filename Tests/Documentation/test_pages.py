"""The harness of the pages: it pastes as a person does, and notices what a person would stumble over."""

import pathlib
import tempfile
import textwrap
import time
import unittest
import unittest.mock

import pages
from pages import matches, steps
from terminal import Terminal

SECONDS = 20


class Pasted(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.terminal = Terminal(self.folder, self.folder, {"HERE": "a variable"})
        self.addCleanup(self.terminal.close)

    def paste(self, text, seconds=SECONDS):
        return self.terminal.paste(textwrap.dedent(text), seconds)

    def test_a_block_has_its_exit_code_and_what_it_prints_on_standard_output(self):
        found = self.paste("echo one; echo two >&2\necho $HERE\nfalse")
        self.assertEqual((found.code, found.output), (1, "one\na variable\n"))
        self.assertIn("two\n", found.screen)

    def test_blocks_are_in_one_shell(self):
        self.paste("cd /; x=1\nsleep 60 &")
        self.assertEqual(self.paste("pwd; echo $x; kill $!; wait $!; echo $?"), (0, "/\n1\n143\n", unittest.mock.ANY))

    def test_there_is_job_control(self):
        found = self.paste("sleep 60 &\nsleep 61 &\njobs\nkill %1 %2\nwait\necho $-")
        self.assertEqual(found.code, 0)
        self.assertRegex(found.output, r"\[1\]- +Running +sleep 60 &\n\[2\]\+ +Running +sleep 61 &\n[a-zA-Z]*m[a-zA-Z]*\n$")
        self.assertEqual(self.terminal.running(), {})

    def test_what_is_printed_in_the_background_comes_in_between(self):
        found = self.paste(
            "(while [ ! -e there ]; do sleep 0.05; done; echo behind) &\necho before; touch there; wait $!\necho after"
        )
        self.assertEqual(found.output, "before\nbehind\nafter\n")

    def test_both_outputs_are_terminals_whose_colours_and_progress_are_taken_away(self):
        found = self.paste("test -t 0 -a -t 1 -a -t 2 && printf '50%%\\r\\033[K\\033[31mred\\033[0m\\n'")
        self.assertEqual((found.code, found.output), (0, "red\n"))

    def test_a_command_that_reads_the_terminal_swallows_the_lines_that_follow(self):
        self.assertIsNone(self.paste("cat > swallowed\necho not run", seconds=2).code)
        self.assertIn("echo not run", (self.folder / "swallowed").read_text())

    def test_a_command_in_the_background_that_reads_the_terminal_is_stopped(self):
        found = self.paste("cat &\nuntil jobs | grep Stopped; do sleep 0.05; done")
        self.assertIn("Stopped", found.output)

    def test_history_is_expanded_as_for_a_person(self):
        self.assertIn("event not found", self.paste('echo "nobody!here"').screen)

    def test_a_block_that_does_not_end_in_time_has_no_code(self):
        began = time.monotonic()
        self.assertIsNone(self.paste("sleep 60", seconds=0.5).code)
        self.assertIsNone(self.paste("exit", seconds=1).code)
        self.assertLess(time.monotonic() - began, SECONDS)

    def test_more_than_a_terminal_holds_can_be_pasted(self):
        lines = "".join(f"echo {number:_>80}\n" for number in range(500))
        self.assertEqual(self.paste(lines).output, "".join(f"{number:_>80}\n" for number in range(500)))

    def test_what_was_left_running_is_ended(self):
        other = Terminal(self.folder, self.folder, {})
        other.paste("(trap '' HUP; sleep 60) &\nsleep 61 &", SECONDS)
        deadline = time.monotonic() + SECONDS
        while not {"sleep 60", "sleep 61"} <= set(other.running().values()) and time.monotonic() < deadline:
            other.paste("", SECONDS)
        self.assertLessEqual({"sleep 60", "sleep 61"}, set(other.running().values()))
        other.close()
        self.assertEqual(other.running(), {})


class Blocks(unittest.TestCase):
    def page(self, text, newcomer):
        path = pages.ROOT / "docs" / "made-up.md"
        found = unittest.mock.patch.object(pathlib.Path, "read_text", lambda _: textwrap.dedent(text))
        listed = unittest.mock.patch.object(pages, "NEWCOMER", [path] if newcomer else [])
        with found, listed:
            return [(step.line, step.kind, step.text, step.shown) for step in steps(path)]

    def test_every_block_of_a_page_for_newcomers_is_run(self):
        text = "```sh\na\n```\n\n```text\nshown\n```\n```sh docker\nb\n```\n```sh last\nc\n```\n"
        self.assertEqual(self.page(text, True), [(1, "run", "a\n", "shown\n"), (11, "last", "c\n", None)])

    def test_of_another_page_those_are_run_that_say_so(self):
        self.assertEqual(self.page("```sh\na\n```\n```sh run\nb\n```\n", False), [(4, "run", "b\n", None)])

    def test_a_mark_that_nobody_knows_is_refused(self):
        for text, newcomer in (
            ("```sh rnu\na\n```\n", False),
            ("```sh run\na\n```\n", True),
            ("```sh later\na\n```\n", True),
            ("```sh docker\na\n```\n", False),
            ("```bash\na\n```\n", True),
            ("```json flie=a\na\n```\n", False),
        ):
            with self.subTest(text), self.assertRaisesRegex(SystemExit, "docs/made-up.md:1: "):
                self.page(text, newcomer)

    def test_what_is_shown_may_leave_out_what_differs(self):
        self.assertTrue(matches("a … c\n…\nend\n", "a b c\nx\ny\nend\n"))
        self.assertTrue(matches("…\n", ""))
        for printed in ("a b c\n", "a b d\nend\n", "a b c\nend\nmore\n"):
            self.assertFalse(matches("a … c\n…\nend\n", printed), printed)

    def test_every_page_can_be_read(self):
        count = sum(len(steps(page)) for page in [*pages.NEWCOMER, *(pages.ROOT / "docs").rglob("*.md")])
        self.assertGreater(count, 40)


if __name__ == "__main__":
    unittest.main()
