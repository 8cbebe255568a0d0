"""The verifier must find of requests what it is there to find: each test spoils a right output in one way."""

import collections
import itertools
import json
import unittest

from generator.requests import KINDS
from model.partitions import murmur2_partition
from model.records import Record
from model.verify import Run, verify
from tests.sample_requested import DELAY_MS, MAX_TABLE_AGE_MS, PARTITIONS, SETTINGS, TOPIC, SampleRequested
from tests.sample_run import journal_records


class VerifierOfRequests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sample = SampleRequested()

    def setUp(self):
        self.dispatch, self.letters = list(self.sample.dispatch), list(self.sample.letters)
        self.journal = json.loads(json.dumps(self.sample.journal))
        self.partitions = PARTITIONS

    def kinds(self):
        """The kinds of difference that the verifier finds now."""
        offsets, dispatch = collections.Counter(), []
        for key, value, headers in self.dispatch:
            partition = murmur2_partition(key, self.partitions)
            dispatch.append(Record("dispatch", partition, offsets[partition], 0, key, value, headers))
            offsets[partition] += 1
        self.report = verify(
            Run(
                settings=SETTINGS,
                events=[],
                subscriptions=self.sample.table,
                dispatch=dispatch,
                dead_letters=[Record("dead", 0, at, 0, *each) for at, each in enumerate(self.letters)],
                journal=journal_records(self.journal),
                dispatch_partitions=PARTITIONS,
                starts={(TOPIC, partition): 0 for partition in self.sample.ends},
                ends={(TOPIC, partition): end for partition, end in self.sample.ends.items()},
                max_table_age_ms=MAX_TABLE_AGE_MS,
                requests=self.sample.records,
            )
        )
        return {kind for kind, _ in self.report.differences}

    def source(self, push):
        """The request of a push: its topic, partition and offset."""
        topic, partition, offset = dict(push[2])["source"].decode().rsplit("/", 2)
        return topic, int(partition), int(offset)

    def entry_of(self, push):
        topic, partition, offset = self.source(push)
        return next(
            each for each in self.journal if (each["ranges"][0]["partition"], each["ranges"][0]["from"]) == (partition, offset)
        )

    def swap(self, is_chosen):
        """Swaps two pushes to one device, the second the next one after the first, of requests of one partition whose keys are
        chosen."""
        keys = {(each.topic, each.partition, each.offset): each.key for each in self.sample.records}
        first, last = next(
            (a, b)
            for a, b in itertools.combinations(range(len(self.dispatch)), 2)
            if self.dispatch[a][0] == self.dispatch[b][0]
            and all(each[0] != self.dispatch[a][0] for each in self.dispatch[a + 1 : b])
            and self.source(self.dispatch[a])[1] == self.source(self.dispatch[b])[1]
            and is_chosen(*(keys[self.source(self.dispatch[at])] for at in (a, b)))
        )
        self.dispatch[first], self.dispatch[last] = self.dispatch[last], self.dispatch[first]

    def letter_with_a_sentence(self):
        """The place of a dead letter of a request whose sentence is known, and its headers by name."""
        return next(
            (at, dict(each[2]))
            for at, each in enumerate(self.letters)
            if dict(each[2])["x-error-code"] in (b"bad_request", b"conflicting_value")
        )

    def test_right_output_has_no_difference(self):
        self.assertEqual(self.kinds(), set())
        self.assertGreater(len(self.dispatch), 500)
        self.assertGreaterEqual(len(self.letters), len(KINDS))
        counts = self.report.counts
        for what in ("expired", "no_subscriber", "stale_token", "duplicate", "duplicate_other_content"):
            self.assertGreater(counts.get(f"requests {what}", 0), 0, what)
        self.assertGreater(counts["expected pushes of requests"], 0)

    def test_a_lost_push(self):
        del self.dispatch[100]
        self.assertEqual(self.kinds(), {"lost push (I1, I4)"})

    def test_a_push_that_was_sent_twice(self):
        self.dispatch.insert(150, self.dispatch[100])
        self.assertEqual(self.kinds(), {"pushed twice (I2)"})

    def test_a_push_that_nobody_asked_for(self):
        _, value, headers = self.dispatch[100]
        self.dispatch.append((b"0" * 64, value, headers))
        self.assertEqual(self.kinds(), {"unexpected push (I2)"})

    def test_a_push_with_the_id_of_another_request(self):
        key, value, headers = self.dispatch[100]
        self.dispatch[100] = key, value, (("message-id", b"msg-0-000000000"), *headers[1:])
        self.assertIn("lost push (I1, I4)", self.kinds())

    def test_two_requests_of_a_key_swapped(self):
        self.swap(lambda one, other: one == other)
        self.assertEqual(self.kinds(), {"order not kept (I3)"})

    def test_two_requests_of_a_partition_swapped_for_a_device(self):
        self.swap(lambda one, other: one != other)
        self.assertEqual(self.kinds(), {"order not kept (I3)"})

    def test_another_byte(self):
        key, value, headers = self.dispatch[7]
        self.dispatch[7] = key, value.replace(b'":', b'": ', 1), headers
        self.assertEqual(self.kinds(), {"wrong value"})

    def test_a_wrong_header(self):
        key, value, headers = self.dispatch[7]
        self.dispatch[7] = key, value, tuple((name, b"0" if name == "expires-at" else each) for name, each in headers)
        self.assertEqual(self.kinds(), {"wrong headers"})

    def test_another_partition(self):
        self.partitions = PARTITIONS - 1
        self.assertIn("wrong partition", self.kinds())

    def test_the_second_audience_of_the_list(self):
        right, wrong = self.sample.second_audience
        self.dispatch[self.dispatch.index(right)] = wrong
        self.assertIn("wrong headers", self.kinds())
        self.assertLessEqual(self.kinds(), {"wrong headers", "wrong value"})

    def test_a_push_by_each_audience_of_the_list(self):
        self.dispatch.append(self.sample.second_audience[1])
        self.assertEqual(self.kinds(), {"pushed twice (I2)"})

    def test_a_push_to_a_device_that_has_unsubscribed(self):
        self.dispatch.append(self.sample.unsubscribed)
        self.assertEqual(self.kinds(), {"pushed while not subscribed (I5)"})

    def test_a_push_at_another_position_of_the_table(self):
        self.entry_of(self.sample.unsubscribed)["table"] = [self.sample.frozen]
        kinds = self.kinds()
        self.assertIn("lost push (I1, I4)", kinds)
        self.assertIn("the table is too old (I5)", kinds)

    def test_a_push_that_has_expired(self):
        self.dispatch.append(self.sample.expired)
        self.assertEqual(self.kinds(), {"pushed after it had expired"})

    def test_a_request_that_was_sent_again(self):
        self.dispatch.append(self.sample.repeated)
        self.assertEqual(self.kinds(), {"a repeated request was pushed"})

    def test_a_push_that_the_clock_of_its_transaction_does_not_allow(self):
        push = next(each for each in self.dispatch if int(dict(each[2])["expires-at"]) < self.entry_of(each)["clock"] + 4_000)
        self.entry_of(push)["clock"] = int(dict(push[2])["expires-at"])
        self.assertEqual(self.kinds(), {"pushed after it had expired"})

    def test_a_push_that_the_clock_of_its_transaction_does_not_forbid(self):
        self.entry_of(self.sample.expired)["clock"] = int(dict(self.sample.expired[2])["expires-at"]) - 1
        self.assertEqual(self.kinds(), {"lost push (I1, I4)"})

    def test_some_requests_expire_between_their_time_and_the_clock_of_their_transaction(self):
        expiry = self.sample.expiries
        self.assertTrue(any(each.timestamp < expiry.get(each, 0) <= each.timestamp + DELAY_MS for each in self.sample.records))

    def test_a_lost_dead_letter(self):
        del self.letters[2]
        self.assertEqual(self.kinds(), {"lost dead letter"})

    def test_a_dead_letter_that_was_sent_twice(self):
        self.letters.append(self.letters[2])
        self.assertEqual(self.kinds(), {"dead letter twice"})

    def test_a_dead_letter_of_a_good_request(self):
        key, value, headers = self.letters[2]
        topic, partition, offset = self.source(self.dispatch[100])
        place = {"__connect.errors.partition": partition, "__connect.errors.offset": offset}
        headers = tuple((name, str(place[name]).encode() if name in place else each) for name, each in headers)
        self.letters.append((key, value, headers))
        self.assertEqual(self.kinds(), {"unexpected dead letter"})

    def test_a_dead_letter_with_another_code(self):
        at, headers = self.letter_with_a_sentence()
        key, value, found = self.letters[at]
        self.letters[at] = key, value, (*found[:-1], ("x-error-code", b"null_value"))
        self.assertEqual(self.kinds(), {"wrong error code"})

    def test_a_dead_letter_with_another_sentence(self):
        at, headers = self.letter_with_a_sentence()
        key, value, found = self.letters[at]
        name = "__connect.errors.exception.message"
        self.letters[at] = key, value, tuple((each, b"It is wrong" if each == name else text) for each, text in found)
        self.assertEqual(self.kinds(), {"wrong sentence"})

    def test_a_dead_letter_with_other_bytes(self):
        key, value, headers = self.letters[2]
        self.letters[2] = key, (value or b"") + b" ", headers
        self.assertEqual(self.kinds(), {"dead letter's value changed"})

    def test_a_missing_journal_range(self):
        del self.journal[50]
        self.assertIn("journal misses offsets (I7)", self.kinds())

    def test_a_missing_last_journal_range(self):
        del self.journal[-1]
        self.assertIn("journal misses offsets (I7)", self.kinds())

    def test_a_repeated_journal_range(self):
        self.journal.append(self.journal[50])
        self.assertEqual(self.kinds(), {"journal repeats offsets (I7)"})

    def test_a_topic_of_requests_that_the_journal_does_not_have(self):
        self.journal = []
        self.assertIn("journal misses offsets (I7)", self.kinds())

    def test_a_table_that_went_back(self):
        by_partition = [each for each in self.journal if each["ranges"][0]["partition"] == 2]
        by_partition[20]["table"] = [by_partition[21]["table"][0] + 1]
        self.assertIn("the table went back (I5)", self.kinds())

    def test_a_table_that_is_too_old(self):
        for each in self.journal:
            each["table"] = [each["table"][0] - MAX_TABLE_AGE_MS // 1000 - 2]
        kinds = self.kinds()
        self.assertIn("the table is too old (I5)", kinds)
        self.assertNotIn("the table went back (I5)", kinds)

    def test_a_watermark_of_requests(self):
        mark = self.journal[-1]["watermarks"][0]
        mark["after"] = mark["until"] = self.journal[-1]["clock"]
        self.assertEqual(self.kinds(), {"a watermark of requests (I8)"})

    def test_a_range_of_another_log(self):
        self.journal[5]["ranges"][0]["first"]["timestamp"] += 1
        self.assertEqual(self.kinds(), {"wrong fingerprint"})
