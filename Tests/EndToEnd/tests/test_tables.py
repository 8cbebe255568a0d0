"""A table that is not the fold of its topic is noticed."""

import unittest

from model.report import Report
from model.subscriptions import Subscriptions
from model.tables import check_table, table_digest
from tests.sample_run import SampleRun


class Tables(unittest.TestCase):
    """The subscriptions are changed once before each event; the tables stand before the 350th record."""

    @classmethod
    def setUpClass(cls):
        cls.table = SampleRun().table

    def test_a_table_that_is_the_fold(self):
        self.assertEqual(self.table_kinds(self.table, 350), set())

    def test_a_table_that_has_missed_a_change(self):
        missed = next(
            at
            for at in range(349, 0, -1)
            if self.table[at].value is None and all(each.key != self.table[at].key for each in self.table[at + 1 : 350])
        )
        self.assertEqual(self.table_kinds(self.table[:missed] + self.table[missed + 1 :], 350), {"table is not the fold (I6)"})

    def test_a_table_with_another_field(self):
        at = next(
            at
            for at in range(349, 0, -1)
            if b'"production"' in (self.table[at].value or b"")
            and all(each.key != self.table[at].key for each in self.table[at + 1 : 350])
        )
        other = self.table[at]._replace(value=self.table[at].value.replace(b'"production"', b'"development"'))
        self.assertEqual(self.table_kinds(self.table[:at] + [other] + self.table[at + 1 :], 350), {"table is not the fold (I6)"})

    def test_a_table_that_is_ahead_of_its_topic(self):
        self.assertEqual(self.table_kinds(self.table, len(self.table) + 1), {"table outside its topic (I6)"})

    def test_a_table_that_is_not_complete(self):
        self.assertEqual(self.table_kinds(self.table[:5], 0, complete=False), set())
        end = len(self.table)
        self.assertEqual(self.table_kinds(self.table, end, complete=False), {"table at the end of its topic is not complete (I6)"})

    def table_kinds(self, folded, position, complete=True):
        """The kinds of difference of a table that was made of `folded` and says that it stands at `position`."""
        count, digest = table_digest(Subscriptions(folded), [position])
        report = Report()
        found = {"offsets": [position], "devices": count, "digest": digest, "complete": complete}
        check_table(found, "a", Subscriptions(self.table), report)
        return {kind for kind, _ in report.differences}
