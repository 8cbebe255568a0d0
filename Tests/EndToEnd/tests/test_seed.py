import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from harness.project import ROOT


class Seed(unittest.TestCase):
    """A copy of `Scripts/seed` in a project of its own: what it prints, on both streams."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="carillon-seed."))
        self.addCleanup(shutil.rmtree, self.folder)
        self.project = self.folder / "project"
        (self.project / "Scripts").mkdir(parents=True)
        shutil.copy(ROOT / "Scripts/seed", self.project / "Scripts/seed")

    def git(self, *words, folder=None):
        who = ["-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "init.defaultBranch=main"]
        made = subprocess.run(["git", *who, *words], cwd=folder or self.project, check=True, stdout=subprocess.PIPE, text=True)
        return made.stdout.strip()

    def commit(self, text, folder=None):
        ((folder or self.project) / "file").write_text(text)
        self.git("add", ".", folder=folder)
        self.git("commit", "-q", "-m", text, folder=folder)

    def seed(self, wanted=""):
        variables = os.environ | {"TEST_SEED": wanted}
        return subprocess.run([self.project / "Scripts/seed"], env=variables, capture_output=True, text=True)

    def printed(self, wanted=""):
        found = self.seed(wanted)
        self.assertEqual((found.returncode, found.stderr), (0, ""))
        return int(found.stdout)

    def test_the_same_tree_gives_the_same_seed_whoever_committed_it_and_whatever_is_not_committed(self):
        self.git("init", "-q")
        self.commit("first")
        seed = self.printed()
        self.assertEqual(seed, int(self.git("rev-parse", "HEAD^{tree}")[:6], 16))
        self.git("commit", "-q", "--amend", "-m", "other words")
        (self.project / "file").write_text("not committed")
        self.assertEqual(self.printed(), seed)

    def test_another_tree_gives_another_seed(self):
        self.git("init", "-q")
        self.commit("first")
        first = self.printed()
        self.commit("second")
        self.assertNotEqual(self.printed(), first)

    def test_fresh_seeds_differ_from_each_other(self):
        self.git("init", "-q")
        self.commit("first")
        # Ten like numbers of 2^24 do not happen.
        fresh = {self.printed("random") for _ in range(10)}
        self.assertGreater(len(fresh), 1)
        self.assertTrue(all(0 <= each < 1 << 24 for each in fresh))

    def test_the_seed_of_an_earlier_run_is_taken_as_it_is(self):
        self.assertEqual([self.printed(each) for each in ("0", "7", "123456789")], [0, 7, 123456789])

    def test_anything_else_is_an_error_that_names_what_is_allowed(self):
        for wanted in ("fresh", "-1", "1.5", "0x10", "010", "1 2", "1234567890"):
            with self.subTest(wanted=wanted):
                found = self.seed(wanted)
                self.assertEqual((found.returncode, found.stdout), (64, ""))
                self.assertIn(f"TEST_SEED is '{wanted}', and can be 'random' or a number", found.stderr)

    def test_without_a_commit_it_is_fixed_and_says_so(self):
        for has_repository in (False, True):
            if has_repository:
                self.git("init", "-q")
            found = self.seed()
            self.assertEqual((found.returncode, found.stdout), (0, "1\n"))
            self.assertIn("no commit", found.stderr)

    def test_an_archive_that_lies_in_another_repository_does_not_take_that_ones_commit(self):
        self.git("init", "-q", folder=self.folder)
        self.commit("other", folder=self.folder)
        self.assertEqual(self.seed().stdout, "1\n")


if __name__ == "__main__":
    unittest.main()
