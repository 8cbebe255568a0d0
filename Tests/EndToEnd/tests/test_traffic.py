"""What the verifier of an endpoint's log must find: each test spoils a right run in one way."""

import dataclasses
import json
import unittest

from generator.dispatch import Pushes
from generator.inputs import BASE_MS
from model.pushes import push_of
from model.records import Record
from model.report import Report
from model.traffic import Seen, check_outcomes, check_requests, check_superseded, check_waits, in_flight


class VerifierOfSuperseded(unittest.TestCase):
    def setUp(self):
        """Pushes of one device, by their keys: the first one was sent while the others waited."""
        made = Pushes(3, 0)
        target = made.target()
        keys = ("a", "a", None, "a", "b")
        records = [made.record(target, BASE_MS, BASE_MS + 60_000, key) for key in keys]
        self.pushes = [push_of(Record("dispatch", 0, offset, BASE_MS, *each)) for offset, each in enumerate(records)]
        self.ends = ["accepted", "superseded", "accepted", "accepted", "accepted"]
        self.sent_at = {0: 100, 2: 5_100, 3: 5_200, 4: 5_300}
        self.order = range(5)
        self.ended_at = 6_000

    def kinds(self):
        deliveries = [
            Record("deliveries", 0, place, BASE_MS + self.ended_at, b"", self.value(number), ())
            for place, number in enumerate(self.order)
        ]
        seen = [
            Seen(n, "fcm", BASE_MS + at, BASE_MS + at, BASE_MS + at, 200, taken=True, message=self.pushes[number].message)
            for n, (number, at) in enumerate(self.sent_at.items())
        ]
        report = Report()
        check_superseded(self.pushes, deliveries, seen, report)
        return [kind for kind, _ in report.differences]

    def value(self, number):
        return json.dumps({"message_id": self.pushes[number].message, "outcome": self.ends[number]})

    def test_a_right_run_has_no_difference(self):
        self.assertEqual(self.kinds(), [])

    def test_only_a_push_with_a_newer_one_of_its_key_is_superseded(self):
        for number in (2, 3, 4):
            with self.subTest(number):
                self.setUp()
                self.ends[number] = "superseded"
                del self.sent_at[number]
                self.assertEqual(self.kinds(), ["superseded by no newer push"])

    def test_a_newer_one_that_has_ended_supersedes_nothing(self):
        self.order = (0, 3, 2, 1, 4)
        self.assertEqual(self.kinds(), ["superseded by no newer push"])

    def test_what_is_superseded_was_not_taken_and_has_not_expired(self):
        self.sent_at[1] = 200
        self.assertEqual(self.kinds(), ["superseded, but taken"])
        del self.sent_at[1]
        self.ended_at = 61_001
        self.assertEqual(self.kinds(), ["superseded, but expired"])

    def test_what_has_a_newer_one_that_waits_is_not_sent(self):
        self.ends[1], self.sent_at[1] = "accepted", 5_000
        self.assertEqual(self.kinds(), ["sent although a newer push waited"])
        # The newer one has just been written.
        self.sent_at[1] = 1_000 - 1
        self.assertEqual(self.kinds(), [])


class VerifierOfTraffic(unittest.TestCase):
    def setUp(self):
        """Three pushes of one device: accepted, accepted after a 503, and dead."""
        made = Pushes(3, 0)
        target = made.target()
        records = [made.record(target, BASE_MS, BASE_MS + 60_000) for _ in range(3)]
        self.pushes = [push_of(Record("dispatch", 0, offset, BASE_MS, *each)) for offset, each in enumerate(records)]
        self.seen = [
            self.request(0, 0, 100, 200),
            self.request(1, 1, 200, 503),
            self.request(2, 1, 300, 200),
            self.request(3, 2, 400, 410),
        ]
        self.outcomes = [self.outcome(0, "accepted"), self.outcome(1, "accepted"), self.outcome(2, "dead_device")]

    def request(self, n, number, at, status):
        push, at = self.pushes[number], BASE_MS + at
        return Seen(n, push.platform, at, at + 1, at + 50, status, taken=status == 200, device=push.device, message=push.message)

    def outcome(self, number, outcome):
        value = json.dumps({"message_id": self.pushes[number].message, "outcome": outcome})
        return Record("deliveries", 0, number, BASE_MS, b"", value, ())

    def change(self, n, **members):
        self.seen[n] = dataclasses.replace(self.seen[n], **members)

    def kinds(self, disturbances=()):
        self.report = Report()
        check_requests(self.pushes, self.seen, self.report, disturbances)
        check_outcomes(self.pushes, self.outcomes, self.seen, self.report, disturbances)
        return [kind for kind, _ in self.report.differences]

    def test_a_right_run_has_no_difference(self):
        self.assertEqual(self.kinds(), [])
        self.assertEqual(self.report.counts, {"pushes": 3, "requests": 4, "accepted": 2, "dead_device": 1, "taken again": 0})

    def test_each_push_has_one_outcome(self):
        self.outcomes.append(self.outcome(2, "dead_device"))
        self.assertEqual(self.kinds(), ["not one outcome"])
        self.outcomes = self.outcomes[1:3]
        self.assertIn("not one outcome", self.kinds())

    def test_what_is_accepted_was_taken_and_answered(self):
        self.change(0, status=503, taken=False)
        self.assertEqual(self.kinds(), ["accepted, or not, unlike at the endpoint"])
        self.change(0, status=200, taken=True, done=None)
        self.assertEqual(self.kinds(), ["accepted, or not, unlike at the endpoint"])

    def test_an_answer_that_was_broken_off_may_have_arrived(self):
        self.change(0, broken=True)
        self.assertEqual(self.kinds(), [])
        self.outcomes[0] = self.outcome(0, "gave_up")
        self.assertEqual(self.kinds(), [])

    def test_what_was_taken_and_answered_is_accepted_but_where_its_process_died(self):
        self.outcomes[0] = self.outcome(0, "gave_up")
        self.assertEqual(self.kinds(), ["accepted, or not, unlike at the endpoint"])
        self.assertEqual(self.kinds([(BASE_MS, BASE_MS + 150)]), [])

    def test_nothing_is_whole_after_its_expiry(self):
        self.change(3, whole=self.pushes[2].expires + 1_001)
        self.assertEqual(self.kinds(), ["after its expiry"])

    def test_a_push_begins_after_the_ones_before_it(self):
        self.change(2, at=BASE_MS + 420, done=BASE_MS + 430)
        self.assertEqual(self.kinds(), ["out of order"])
        self.assertEqual(self.kinds([(BASE_MS + 410, BASE_MS + 500)]), [])

    def test_nor_while_a_request_of_one_of_these_is_in_flight(self):
        self.change(2, done=BASE_MS + 401)
        self.assertEqual(self.kinds(), ["out of order"])

    def waits(self, *times, disturbances=()):
        """Of requests that begin at these times, and end 50 ms later."""
        for n, at in enumerate(times):
            self.change(n, at=BASE_MS + at, whole=BASE_MS + at, done=None if self.seen[n].fault == "silent" else BASE_MS + at + 50)
        self.report = Report()
        check_waits(self.pushes, self.seen, self.report, 1_000, disturbances)
        return [kind for kind, _ in self.report.differences]

    def test_a_push_is_sent_when_the_one_before_it_has_ended_and_when_its_retry_is_due(self):
        self.assertEqual(self.waits(3_000, 6_050, 10_100, 13_150), [])
        self.assertEqual(self.report.counts, {"ms the longest wait": 3_000})
        for times in ((3_001, 6_050, 10_100, 13_150), (0, 50, 4_101, 4_200), (0, 50, 4_100, 7_151)):
            self.assertEqual(self.waits(*times), ["not when it is its turn"])

    def test_but_where_it_could_not_be_sent_meanwhile(self):
        for periods in ([(500, 9_000)], [(4_000, 7_000), (500, 3_000), (1_000, 6_000), (7_000, 7_500)]):
            disturbances = [(BASE_MS + first, BASE_MS + last) for first, last in periods]
            self.assertEqual(self.waits(9_500, 9_600, 10_700, 10_800, disturbances=disturbances), [])
        self.assertEqual(self.waits(9_500, 9_600, 10_700, 10_800), ["not when it is its turn"])

    def test_a_retry_waits_as_long_as_its_answer_asks_and_after_the_time_for_an_answer(self):
        for fault, longest in (("later", 5_100), ("silent", 19_050)):
            self.change(1, fault=fault)
            self.assertEqual(self.waits(0, 50, longest, longest + 50), [])
            self.assertEqual(self.waits(0, 50, longest + 1, longest + 51), ["not when it is its turn"])

    def test_an_outcome_is_a_push_s(self):
        self.outcomes.append(Record("deliveries", 0, 3, BASE_MS, b"", '{"message_id": "other", "outcome": "accepted"}', ()))
        self.assertEqual(self.kinds(), ["an outcome of no push"])

    def test_what_was_taken_twice_and_what_was_in_flight_are_counted(self):
        self.change(1, status=200, taken=True)
        self.assertEqual(self.kinds(), [])
        self.assertEqual(self.report.counts["taken again"], 1)
        self.assertEqual(in_flight(self.seen, [BASE_MS + 120, BASE_MS + 160, BASE_MS + 220]), 2)
