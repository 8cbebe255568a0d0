"""Whether the programs have written the same."""

import unittest

from harness.waiting import Failure
from peers import expect_same


class SameRecordsTests(unittest.TestCase):
    def test_the_limit_may_write_something_else(self):
        expect_same({"carillon": {"a"}, "streams": {"a"}, "limit": {"b"}})

    def test_a_program_that_writes_something_else_once_fails(self):
        for found in ({"b"}, {"a", "b"}):
            with self.assertRaisesRegex(Failure, "streams does not write the same"):
                expect_same({"carillon": {"a"}, "streams": found})

    def test_so_does_carillon_itself(self):
        with self.assertRaisesRegex(Failure, "carillon does not write the same"):
            expect_same({"carillon": {"a", "b"}, "limit": {"c"}})


if __name__ == "__main__":
    unittest.main()
