"""The verifier must find what it is there to find: each test spoils a right output in one way."""

import collections
import json
import unittest

from generator.poison import POISONS
from model.journal import Span, check_watermarks
from model.orders import Watermark
from model.partitions import murmur2_partition
from model.records import Record, Settings
from model.report import Report
from model.verify import Run, verify
from tests.sample_run import MAX_TABLE_AGE_MS, PARTITIONS, SETTINGS, START_MS, SampleRun, journal_records


class Verifier(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sample = SampleRun()

    def setUp(self):
        sample = self.sample
        self.records, self.table, self.ends, self.unsubscribed = sample.records, sample.table, sample.ends, sample.unsubscribed
        self.max_table_age_ms = MAX_TABLE_AGE_MS
        self.timers_until = sample.now
        self.dispatch, self.letters = list(sample.dispatch), list(sample.letters)
        self.journal, self.ticks = json.loads(json.dumps([sample.journal, sample.ticks]))

    def kinds(self):
        """The kinds of difference that the verifier finds now."""
        offsets, dispatch = collections.Counter(), []
        for key, value, headers in self.dispatch:
            partition = murmur2_partition(key, PARTITIONS)
            dispatch.append(Record("dispatch", partition, offsets[partition], 0, key, value, headers))
            offsets[partition] += 1
        run = Run(
            settings=SETTINGS,
            events=self.records,
            subscriptions=self.table,
            dispatch=dispatch,
            dead_letters=[Record("dead", 0, at, 0, *each) for at, each in enumerate(self.letters)],
            journal=journal_records(self.journal + self.ticks),
            dispatch_partitions=PARTITIONS,
            starts={("orders.events", partition): 0 for partition in self.ends},
            ends={("orders.events", partition): end for partition, end in self.ends.items()},
            max_table_age_ms=self.max_table_age_ms,
            timers_until=self.timers_until,
        )
        report = verify(run)
        return {kind for kind, _ in report.differences}

    def letter(self, **changes):
        """Changes the first dead letter that has headers of its own."""
        index = next(at for at, each in enumerate(self.letters) if any(name == "x-binary" for name, _ in each[2]))
        letter = dict(zip(("key", "value", "headers"), self.letters[index]))
        self.letters[index] = tuple((letter | {k: change(letter[k]) for k, change in changes.items()}).values())

    def test_right_output_has_no_difference(self):
        self.assertGreater(len(self.dispatch), 500)
        self.assertGreaterEqual(len(self.letters), len(POISONS))
        self.assertEqual(self.kinds(), set())

    def test_a_lost_push(self):
        del self.dispatch[100]
        self.assertEqual(self.kinds(), {"lost push (I1, I4)"})

    def test_a_push_that_was_sent_twice(self):
        self.dispatch.insert(150, self.dispatch[100])
        self.assertEqual(self.kinds(), {"pushed twice (I2)"})

    def test_a_push_that_nobody_asked_for(self):
        key, value, _ = self.dispatch[100]
        self.dispatch.append((key, value, self.dispatch[0][2]))
        self.assertIn("unexpected push (I2)", self.kinds())

    def test_two_events_of_an_order_swapped(self):
        def order(record):
            return json.loads(json.loads(record[1])["message"]["data"]["default"])["data"]["order_id"]

        first, last = next(
            (a, b)
            for a, one in enumerate(self.dispatch)
            for b, two in enumerate(self.dispatch[a + 1 :], a + 1)
            if one[0] == two[0]
            and b"message" in one[1][:12]
            and order(one) == order(two)
            and dict(one[2])["source"] != dict(two[2])["source"]
        )
        self.dispatch[first], self.dispatch[last] = self.dispatch[last], self.dispatch[first]
        self.assertEqual(self.kinds(), {"order not kept (I3)"})

    def test_a_wrong_field(self):
        key, value, headers = self.dispatch[7]
        self.dispatch[7] = (key, value.replace(b"place_id", b"placeid"), headers)
        self.assertEqual(self.kinds(), {"wrong value"})

    def test_the_same_members_in_other_bytes(self):
        key, value, headers = self.dispatch[7]
        self.dispatch[7] = (key, value.replace(b'":"', b'": "', 1), headers)
        self.assertEqual(self.kinds(), {"wrong bytes"})

    def test_a_wrong_header(self):
        key, value, headers = self.dispatch[7]
        self.dispatch[7] = (key, value, headers[:-1] + (("audience", b"place/0"),))
        self.assertEqual(self.kinds(), {"wrong headers"})

    def test_a_lost_dead_letter(self):
        del self.letters[2]
        self.assertEqual(self.kinds(), {"lost dead letter"})

    def test_a_dead_letter_that_was_sent_twice(self):
        self.letters.append(self.letters[2])
        self.assertEqual(self.kinds(), {"dead letter twice"})

    def test_a_dead_letter_with_other_bytes(self):
        self.letter(value=lambda value: (value or b"") + b" ")
        self.assertEqual(self.kinds(), {"dead letter's value changed"})

    def test_a_dead_letter_with_another_key(self):
        self.letter(key=lambda _: b"other")
        self.assertEqual(self.kinds(), {"dead letter's key changed"})

    def test_a_dead_letter_with_reordered_headers(self):
        self.letter(headers=lambda headers: headers[::-1])
        self.assertEqual(self.kinds(), {"dead letter's headers changed"})

    def test_a_dead_letter_with_another_code(self):
        self.letter(headers=lambda headers: headers[:-1] + (("x-error-code", b"no_reason"),))
        self.assertEqual(self.kinds(), {"wrong error code"})

    def test_a_missing_journal_range(self):
        del self.journal[50]
        self.assertIn("journal misses offsets (I7)", self.kinds())

    def test_a_missing_last_journal_range(self):
        del self.journal[-1]
        self.assertEqual(self.kinds(), {"journal misses offsets (I7)"})

    def test_a_repeated_journal_range(self):
        self.journal.append(self.journal[50])
        self.assertEqual(self.kinds(), {"journal repeats offsets (I7)"})

    def test_a_journal_record_without_the_tables_position(self):
        self.journal[3]["table"] = None
        self.assertIn("journal record incomplete", self.kinds())

    def test_a_table_that_went_back(self):
        by_partition = [each for each in self.journal if each["ranges"][0]["partition"] == 2]
        by_partition[20]["table"] = [by_partition[21]["table"][0] + 1]
        self.assertIn("the table went back (I5)", self.kinds())

    def test_a_table_that_is_too_old(self):
        self.journal[300]["clock"] += 3_000 + MAX_TABLE_AGE_MS
        self.assertEqual(self.kinds(), {"the table is too old (I5)"})

    def test_a_table_that_is_not_at_the_end_of_a_topic_without_changes(self):
        self.max_table_age_ms = None
        self.assertEqual(self.kinds(), {"the table is too old (I5)"})

    def test_a_push_to_a_device_that_has_unsubscribed(self):
        self.dispatch.append(self.unsubscribed)
        self.assertEqual(self.kinds(), {"pushed while not subscribed (I5)"})

    def test_a_push_for_an_event_that_came_before(self):
        self.dispatch.append(self.sample.duplicate)
        self.assertEqual(self.kinds(), {"unexpected push (I2)"})

    def test_a_reminder_of_an_order_that_has_been_picked(self):
        self.dispatch.append(self.sample.picked)
        self.assertEqual(self.kinds(), {"unexpected push (I2)"})

    def test_a_timer_that_was_not_sent(self):
        at = next(at for at, each in enumerate(self.dispatch) if dict(each[2])["source"].startswith(b"schedule/"))
        del self.dispatch[at]
        self.assertEqual(self.kinds(), {"lost push (I1, I4)"})

    def test_a_tick_that_no_journal_knows(self):
        del self.ticks[1]
        self.assertIn("unexpected push (I2)", self.kinds())

    def test_a_repeated_tick(self):
        # A tick that had no record before it in its partition is sorted beside its repetition.
        self.ticks.append(self.ticks[1])
        self.assertIn("a watermark jumped (I8)", self.kinds())

    def test_timers_that_nobody_looked_at(self):
        del self.ticks[-1]
        self.assertIn("timers missing (I8)", self.kinds())

    def test_a_watermark_that_went_back(self):
        mark = self.ticks[1]["watermarks"][0]
        mark["after"] = mark["before"] - 1
        mark.pop("after_p", None)
        self.assertIn("a watermark went back (I8)", self.kinds())

    def test_a_slice_that_no_journal_knows(self):
        at = next(at for at, each in enumerate(self.ticks) if "after_p" in each["watermarks"][0])
        for mark, name in ((self.ticks[at]["watermarks"][0], "after_p"), (self.ticks[at + 1]["watermarks"][0], "before_p")):
            mark[name] = f"{int(mark[name], 16) - 1:016x}"
        # The timer that it ends with is another transaction's now, and the same push.
        self.assertEqual(self.kinds(), set())
        del self.ticks[at]
        self.assertEqual(self.kinds(), {"a watermark jumped (I8)", "unexpected push (I2)"})

    def test_a_tick_beyond_its_time(self):
        mark = next(each["watermarks"][0] for each in self.ticks if "after_p" not in each["watermarks"][0])
        mark["until"] -= 1
        self.assertIn("a tick beyond its T (I8)", self.kinds())

    def test_a_range_of_another_log(self):
        self.journal[5]["ranges"][0]["first"]["timestamp"] += 1
        self.assertEqual(self.kinds(), {"wrong fingerprint"})

    def test_a_journal_without_its_version(self):
        for each in self.journal:
            del each["v"]
        self.assertEqual(self.kinds(), {"journal record incomplete"})

    def test_timers_that_were_early(self):
        self.ticks[1]["clock"] -= 1
        self.assertEqual(self.kinds(), {"timers early (I8)"})

    def test_a_tick_that_overtook_the_log(self):
        at = next(at for at, each in enumerate(self.ticks) if each["ranges"][0]["to"] > 1)
        self.ticks[at]["ranges"][0]["from"] -= 1
        self.ticks[at]["ranges"][0]["to"] -= 1
        self.assertIn("timers overtook the log (I8)", self.kinds())


class WithoutTimers(unittest.TestCase):
    def test_a_watermark_may_pass_events_that_are_still_to_come(self):
        records = [Record("orders.events", 0, at, START_MS, None, None) for at in range(2)]
        span = Span(0, 1, None, START_MS + 9_000, "journal/0/0", Watermark(START_MS), Watermark(START_MS + 9_000), START_MS + 9_000)
        for has_timers, kinds in ((False, []), (True, ["timers overtook the log (I8)"])):
            report = Report()
            run = Run(Settings(schedule=has_timers), records, [], [], [], [], 1)
            check_watermarks({("orders.events", 0): [span]}, run, report)
            self.assertEqual([kind for kind, _ in report.differences], kinds)
