"""Which requests are sent already (docs/rules.md, section 8.10)."""

import json
import unittest

from model.records import Record
from model.request_repeats import DAY_SECONDS, HOUR_MS, Repeats
from model.requests import outcome_of
from tests.sample_requests import NOW, app, settings

REQUEST = {"request_id": "r", "requested_at": NOW, "audience": "user/17"} | app()
DAY = DAY_SECONDS * 1000


class RepeatedRequests(unittest.TestCase):
    def reasons(self, *records, most_ids=1_000_000, clock=None):
        """Of records that are each a value, what it has in addition, and when it was written after the first."""
        repeats, reasons = Repeats(most_ids), []
        for offset, (value, headers, key, after) in enumerate(records):
            kept = tuple((name, text.encode()) for name, text in headers.items())
            record = Record("notifications.requests", 0, offset, NOW + after, key, value, kept)
            reasons.append(repeats.reason(record, outcome_of(record, settings(), 0), clock))
        return reasons

    def one(self, members=None, headers=None, key=b"user/17", after=0):
        return json.dumps(REQUEST | (members or {})).encode(), headers or {}, key, after

    def test_a_request_is_repeated_for_a_day_after_its_last_record(self):
        again = [self.one(after=after) for after in (0, 1, DAY - 1, 2 * DAY - 2_000, 3 * DAY)]
        self.assertEqual(self.reasons(*again), [None, "duplicate", "duplicate", "duplicate", None])

    def test_another_value_is_counted_apart_and_compared_with_the_last_one(self):
        other = self.one({"priority": "high"})
        self.assertEqual(
            self.reasons(self.one(), other, other, self.one()),
            [None, "duplicate_other_content", "duplicate", "duplicate_other_content"],
        )

    def test_another_key_another_id_and_no_id_are_other_requests(self):
        without = ({"request_id": None}, {})
        others = [self.one(key=b"user/18"), self.one({"request_id": "s"}), self.one(*without), self.one(*without)]
        self.assertEqual(self.reasons(self.one(), *others), [None] * 5)

    def test_a_dead_letter_is_not_known_and_one_that_was_put_back_is_sent(self):
        bad = self.one({"audience": "team/1"})
        place = {f"__connect.errors.{name}": value for name, value in (("topic", "a"), ("partition", "1"), ("offset", "2"))}
        back = self.one(headers={"replay-of": "dead/0/7"} | place)
        self.assertEqual(self.reasons(bad, self.one(), back, self.one()), [None, None, None, "duplicate"])

    def test_of_too_many_ids_the_one_that_came_longest_ago_is_forgotten(self):
        first, second, third = (self.one({"request_id": each}) for each in "abc")
        reasons = self.reasons(first, second, first, third, second, first, most_ids=2)
        self.assertEqual(reasons, [None, None, "duplicate", None, None, None])

    def test_a_record_from_the_future_counts_as_an_hour_after_the_clock(self):
        far = self.one({"request_id": "s"}, after=400 * DAY)
        self.assertEqual(self.reasons(self.one(), far, self.one(), clock=NOW), [None, None, "duplicate"])
        self.assertEqual(self.reasons(self.one(), far, self.one(after=HOUR_MS)), [None, None, None])


if __name__ == "__main__":
    unittest.main()
