"""A transaction that blocks its readers for too long is noticed."""

import unittest

from model.report import Report
from model.stalls import check_stalls


class Stalls(unittest.TestCase):
    """Samples of a last stable offset and its partition's end, one a second."""

    def kinds(self, samples, limit):
        report = Report()
        check_stalls([(at, None if each is None else {"p": each}) for at, each in enumerate(samples)], limit, report)
        return {kind for kind, _ in report.differences}

    def test_one_that_stands_too_long(self):
        self.assertEqual(self.kinds([(5, 9)] * 12, 10), {"last stable offset stalls (I10)"})

    def test_one_that_moves_in_time(self):
        self.assertEqual(self.kinds([(5, 9)] * 9 + [(6, 9)] * 9 + [(9, 9)] + [(9, 12)] * 9, 10), set())

    def test_a_quiet_partition_does_not_stall(self):
        self.assertEqual(self.kinds([(9, 9)] * 30, 10), set())

    def test_the_count_starts_again_when_a_broker_was_away(self):
        self.assertEqual(self.kinds([(5, 9)] * 9 + [None] * 30 + [(5, 9)] * 9, 10), set())
