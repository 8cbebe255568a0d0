"""The verifier of broadcasts must find what it is there to find: each test spoils a right output in one way."""

import collections
import copy
import json
import unittest

from generator.inputs import DAY_MS
from model.broadcast_passes import SLICE_MS, VIEW_AGE_MS
from model.broadcasts import BroadcastRun, verify_broadcasts
from model.partitions import murmur2_partition
from model.records import Record
from model.values import parse_event_time
from tests.sample_broadcasts import (
    DISPATCH,
    GROUP,
    MAX_LATE,
    SETTINGS,
    START_MS,
    SUBSCRIPTIONS,
    SampleBroadcasts,
    a_hash,
    base64url,
    journal_records,
)

PARTITIONS = 5


class VerifierOfBroadcasts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sample = SampleBroadcasts()

    def setUp(self):
        self.dispatch, self.letters = list(self.sample.dispatch), list(self.sample.letters)
        self.journal = copy.deepcopy(self.sample.journal)
        self.table, self.records = list(self.sample.table), list(self.sample.records)
        self.partitions, self.max_late, self.frozen = PARTITIONS, MAX_LATE, []

    def kinds(self):
        """The kinds of difference that the verifier finds now."""
        offsets, dispatch = collections.Counter(), []
        for key, value, headers in self.dispatch:
            partition = murmur2_partition(key, self.partitions)
            dispatch.append(Record(DISPATCH, partition, offsets[partition], 0, key, value, headers))
            offsets[partition] += 1
        self.report = verify_broadcasts(
            BroadcastRun(
                settings=SETTINGS,
                subscriptions=self.table,
                broadcasts=self.records,
                dispatch=dispatch,
                dead_letters=[Record("dead", 0, at, 0, *each) for at, each in enumerate(self.letters)],
                journal=journal_records(self.journal),
                group=GROUP,
                subscriptions_topic=SUBSCRIPTIONS,
                dispatch_topic=DISPATCH,
                dispatch_partitions=PARTITIONS,
                starts=self.sample.starts,
                ends=self.sample.ends,
                max_late=self.max_late,
                frozen=self.frozen,
            )
        )
        return {kind for kind, _ in self.report.differences}

    def entries(self, is_chosen=lambda entry: True):
        """The entries of the journal that are chosen, to be changed in place."""
        return [entry for _, _, entry in self.journal if is_chosen(entry)]

    def slices(self, is_chosen=lambda each: True):
        """(entry, slice) for the slices that are chosen."""
        return [(entry, each) for entry in self.entries() for each in entry["passes"] if is_chosen(each)]

    def pushes_of(self, broadcast):
        source = f"notifications.broadcasts/0/{broadcast}".encode()
        return [at for at, each in enumerate(self.dispatch) if dict(each[2])["source"] == source]

    def ended(self, end):
        """(entry, slice) of a pass that ended so after it had sent something, and a push of it that was not sent."""
        for entry, each in self.slices(lambda each: each.get("end") == end and "k_before" in each):
            if pushes := self.pushes_of(each["broadcast"]):
                return entry, each, self.dispatch[pushes[0]]
        raise AssertionError(f"no pass is {end}")

    def late(self):
        """The entry with a push to who joined, its place among the late ones, and the place of the push."""
        for entry in self.entries(lambda entry: entry["late"] and not entry["passes"]):
            late = entry["late"][0]
            device = self._joiners(entry)
            for at in self.pushes_of(late["broadcast"]):
                if self.dispatch[at][0] in device:
                    return entry, late, at
        raise AssertionError("nobody joins late")

    def _joiners(self, entry):
        span = entry["ranges"][0]
        return {
            record.key.rpartition(b"|")[2]
            for record in self.table
            if record.partition == span["partition"] and span["from"] <= record.offset < span["to"] and record.value
        }

    def test_right_output_has_no_difference(self):
        self.assertEqual(self.kinds(), set(), self.report.differences[:3])
        counts = self.report.counts
        self.assertGreater(counts["dispatched"], 500)
        for what in ("to who joined", "not sent after a rotation", "dead letters", "passes cancelled", "passes expired"):
            self.assertGreater(counts[what], 0, what)
        self.assertTrue(any(each["stale"] for _, each in self.slices()))
        self.assertGreater(counts["slices"], counts["passes"])

    def test_a_lost_push(self):
        del self.dispatch[100]
        self.assertEqual(self.kinds(), {"lost push"})

    def test_a_push_that_was_sent_twice(self):
        self.dispatch.insert(150, self.dispatch[100])
        self.assertIn("pushed twice", self.kinds())

    def test_a_push_to_a_device_of_another_channel(self):
        _, value, headers = self.dispatch[100]
        self.dispatch.append((a_hash("stranger").encode(), value, headers))
        self.assertEqual(self.kinds(), {"pushed to a device of no such channel"})

    def test_a_push_of_a_broadcast_that_there_is_not(self):
        key, value, headers = self.dispatch[100]
        self.dispatch.append((key, value, (("source", b"notifications.broadcasts/0/9999"), *headers[1:])))
        self.assertEqual(self.kinds(), {"unexpected push"})

    def test_a_push_to_a_device_that_was_seen_too_long_ago(self):
        _, each = next(iter(self.slices(lambda each: each["stale"] and each["sent"])))
        broadcast = self.sample.outcomes[each["broadcast"]].broadcast
        stale = next(
            record.key.rpartition(b"|")[2]
            for record in self.table
            if record.key.startswith(broadcast.audience.encode() + b"|")
            and record.value
            and (parse_event_time(json.loads(record.value).get("last_seen_at")) or START_MS) < START_MS - 280 * DAY_MS
        )
        _, value, headers = self.dispatch[self.pushes_of(each["broadcast"])[0]]
        self.dispatch.append((stale, value, headers))
        self.assertEqual(self.kinds(), {"pushed to a device that must not get it"})

    def test_a_stale_device_that_the_journal_counts_as_reached(self):
        _, each = next(iter(self.slices(lambda each: each["stale"])))
        each["stale"], each["sent"] = each["stale"] - 1, each["sent"] + 1
        self.assertEqual(self.kinds(), {"wrong count"})

    def test_who_joined_late_did_not_get_it(self):
        entry, late, at = self.late()
        del self.dispatch[at]
        self.assertEqual(self.kinds(), {"lost push"})

    def test_who_joined_late_is_not_in_the_journal_either(self):
        entry, late, at = self.late()
        del self.dispatch[at]
        late["sent"] -= 1
        self.assertEqual(self.kinds(), {"lost push", "wrong count"})

    def test_a_rotation_that_is_taken_for_a_joining(self):
        entry, _, push = self.late()
        span, token_hash = entry["ranges"][0], self.dispatch[push][0]
        at = next(
            at
            for at, each in enumerate(self.table)
            if (each.partition, each.key.rpartition(b"|")[2]) == (span["partition"], token_hash) and each.offset >= span["from"]
        )
        # Long after whatever is published.
        self.table[at] = self.table[at]._replace(headers=(("since", b"1"),), timestamp=START_MS + DAY_MS)
        self.assertLessEqual({"wrong count", "pushed to a device that must not get it"}, self.kinds())

    def test_a_joining_that_is_taken_for_a_rotation(self):
        self.table = [each._replace(headers=()) for each in self.table]
        self.assertLessEqual({"wrong count", "lost push"}, self.kinds())

    def _leaver(self):
        """A range in which somebody joins, and the record by which that one leaves later."""
        for entry in self.entries(lambda entry: entry["late"]):
            span = entry["ranges"][0]
            live, late = {}, {each["broadcast"] for each in entry["late"]}
            got = {self.dispatch[at][0] for each in late for at in self.pushes_of(each)}
            for record in (each for each in self.table if each.partition == span["partition"]):
                if record.value is None and (at := live.pop(record.key, None)) is not None:
                    joined = span["from"] <= at < span["to"] <= record.offset
                    if joined and record.key.rpartition(b"|")[2] in got:
                        return span, record
                elif record.value is not None:
                    live.setdefault(record.key, record.offset)
        raise AssertionError("nobody who joins leaves later")

    def test_who_had_left_by_what_was_known_got_it(self):
        span, record = self._leaver()
        span["ahead"] = record.offset + 1
        self.assertEqual(self.kinds(), {"wrong count", "pushed to a device that must not get it"})

    def test_who_had_left_long_before_got_it(self):
        _, record = self._leaver()
        at = self.table.index(record)
        self.table[at] = record._replace(timestamp=START_MS - VIEW_AGE_MS - SLICE_MS)
        self.assertIn("sent to who had left", self.kinds())

    def test_more_than_the_newest(self):
        self.max_late = MAX_LATE - 1
        # Who has joined twice still gets it once.
        self.assertEqual(self.kinds(), {"pushed to a device that must not get it", "pushed twice", "wrong count"})

    def test_two_pushes_to_a_device_swapped(self):
        places = collections.defaultdict(list)
        for at, (key, _, headers) in enumerate(self.dispatch):
            places[key].append((int(dict(headers)["source"].rpartition(b"/")[2]), at))
        # Of one slice after another, in the order of the broadcasts: both of one channel, so of one partition.
        audiences = {at: each.broadcast and each.broadcast.audience for at, each in self.sample.outcomes.items()}
        first, last = next(
            (one[1], other[1])
            for found in places.values()
            for one, other in zip(found, found[1:])
            if one[0] < other[0] and audiences[one[0]] == audiences[other[0]]
        )
        self.dispatch[first], self.dispatch[last] = self.dispatch[last], self.dispatch[first]
        self.assertEqual(self.kinds(), {"order not kept"})

    def test_another_byte(self):
        key, value, headers = self.dispatch[7]
        self.dispatch[7] = key, value.replace(b'":', b'": ', 1), headers
        self.assertEqual(self.kinds(), {"wrong value"})

    def test_the_text_of_another_language(self):
        at = next(at for at, each in enumerate(self.dispatch) if b'"alert":{"title":"' in each[1])
        key, value, headers = self.dispatch[at]
        self.dispatch[at] = key, value.replace(b'"alert":{"title":"', b'"alert":{"title":"Titel: ', 1), headers
        self.assertEqual(self.kinds(), {"wrong value"})

    def test_a_wrong_header(self):
        key, value, headers = self.dispatch[7]
        self.dispatch[7] = key, value, tuple((name, b"0" if name == "expires-at" else each) for name, each in headers)
        self.assertEqual(self.kinds(), {"wrong headers"})

    def test_another_partition(self):
        self.partitions = PARTITIONS - 1
        self.assertIn("wrong partition", self.kinds())

    def test_a_gap_in_the_ranges(self):
        span = self.entries(lambda entry: entry["ranges"][0]["to"] > entry["ranges"][0]["from"])[5]["ranges"][0]
        span["from"] += 1
        self.assertIn("journal misses offsets", self.kinds())

    def test_a_range_that_is_repeated(self):
        span = self.entries(lambda entry: entry["ranges"][0]["from"] > self.sample.starts[entry["ranges"][0]["partition"]])[5]
        span["ranges"][0]["from"] -= 1
        self.assertIn("journal repeats offsets", self.kinds())

    def test_a_missing_last_range(self):
        while self.journal[-1][2]["ranges"][0]["from"] == self.journal[-1][2]["ranges"][0]["to"]:
            del self.journal[-1]
        del self.journal[-1]
        self.assertIn("journal misses offsets", self.kinds())

    def test_a_view_that_went_back(self):
        self.entries()[-1]["broadcasts"] -= 1
        self.assertEqual(self.kinds(), {"the view went back"})

    def test_k_goes_back(self):
        _, each = self.slices(lambda each: "k_before" in each and "k_after" in each)[0]
        each["k_after"] = base64url("0" * 64)
        self.assertIn("k went back", self.kinds())

    def test_a_slice_that_begins_after_devices_which_it_has_left_out(self):
        _, each = self.slices(lambda each: "k_before" in each and "k_after" in each)[0]
        each["k_before"] = each["k_after"]
        self.assertIn("a pass continues elsewhere", self.kinds())

    def test_a_slice_that_is_not_there(self):
        entry, each = self.slices(lambda each: "k_before" in each and "k_after" in each)[0]
        entry["passes"].remove(each)
        self.assertLessEqual({"a pass continues elsewhere", "pushed to a device that must not get it"}, self.kinds())

    def test_a_pass_without_a_beginning(self):
        _, each = self.slices(lambda each: "devices" in each)[0]
        del each["devices"]
        self.assertEqual(self.kinds(), {"a pass without a beginning"})

    def test_a_pass_that_counts_other_devices(self):
        _, each = self.slices(lambda each: "devices" in each)[0]
        each["devices"] += 1
        self.assertEqual(self.kinds(), {"wrong count"})

    def test_a_pass_without_an_end(self):
        entry, each = self.slices(lambda each: "end" in each)[-1]
        del each["end"]
        each["k_after"] = base64url("f" * 64)
        self.assertEqual(self.kinds(), {"a pass without an end"})

    def test_a_pass_that_is_begun_again(self):
        entry, each = self.slices(lambda each: "devices" in each and each.get("end") == "done")[3]
        later = self.entries(lambda one: one["ranges"] == entry["ranges"] or one["ranges"][0]["from"] >= each["s"])
        again = next(one for one in later if one is not entry and one["ranges"][0]["partition"] == each["partition"])
        again["passes"].append(copy.deepcopy(each) | {"s": again["ranges"][0]["from"]})
        self.assertIn("passes out of order", self.kinds())

    def test_two_passes_at_a_time(self):
        entry, each = self.slices(lambda each: "end" not in each)[0]
        after = self.journal.index(next(one for one in self.journal if one[2] is entry))
        another = next(
            one for one in self.entries()[after + 1 :] if one["ranges"][0]["partition"] == each["partition"] and one["passes"]
        )
        another["passes"][0]["broadcast"] += 1
        self.assertIn("two passes at a time", self.kinds())

    def test_a_pass_that_begins_elsewhere(self):
        _, each = self.slices(lambda each: "devices" in each and each.get("end") == "done")[3]
        each["s"] -= 1
        self.assertIn("a pass begins elsewhere", self.kinds())

    def test_s_that_changes(self):
        _, each = self.slices(lambda each: "k_before" in each)[0]
        each["s"] += 1
        self.assertIn("s has changed", self.kinds())

    def test_a_broadcast_without_a_pass(self):
        entry, each = self.slices(lambda each: each.get("end") == "done" and "devices" in each and not each["sent"])[-1]
        entry["passes"].remove(each)
        self.assertEqual(self.kinds(), {"a broadcast without a pass"})

    def test_a_cancelled_broadcast_that_is_sent_on(self):
        entry, each, push = self.ended("cancelled")
        each |= {"end": "done", "sent": 1}
        self.dispatch.append((a_hash("late").encode(), *push[1:]))
        self.assertIn("sent after its end was known", self.kinds())

    def test_an_expired_broadcast_that_is_sent_on(self):
        entry, each, push = self.ended("expired")
        each |= {"end": "done", "sent": 1}
        self.assertIn("sent after it had expired", self.kinds())

    def test_a_slice_of_what_is_not_known_yet(self):
        entry, each = self.slices(lambda each: each["sent"] and "devices" in each)[0]
        entry["broadcasts"] = each["broadcast"]
        self.assertIn("a slice of no broadcast", self.kinds())

    def test_a_cancellation_that_is_noticed_late(self):
        entry, each, _ = self.ended("cancelled")
        # Nothing but the timestamps says so: the one that cancels was there long before the slice before the last one.
        record = self.records[each["broadcast"]]
        at = next(one.offset for one in self.records if one.key == record.key and one.offset > record.offset)
        self.records[at] = self.records[at]._replace(timestamp=START_MS - VIEW_AGE_MS - SLICE_MS)
        self.assertEqual(self.kinds(), {"sent long after its end"})

    def test_a_table_that_is_too_old(self):
        number = self.slices(lambda each: each["sent"])[0][1]["partition"]
        # They were there before they were read. Of a rotation the time also says what it gets.
        earlier = 2 * (VIEW_AGE_MS + SLICE_MS)
        self.table = [
            each._replace(timestamp=each.timestamp - earlier) if each.partition == number and not each.headers else each
            for each in self.table
        ]
        self.assertEqual(self.kinds(), {"the table is too old"})
        self.frozen = [("j", 0, self.journal[-1][0])]
        self.assertEqual(self.kinds(), {"the table is too old"})
        self.frozen = [("i", 0, self.journal[-1][0])]
        self.assertEqual(self.kinds(), set())

    def test_a_pass_that_is_cancelled_for_no_cause(self):
        _, each = self.slices(lambda each: each.get("end") == "done" and not each["sent"] and not each["stale"])[-1]
        each["end"] = "cancelled"
        self.assertEqual(self.kinds(), {"a pass ended without a cause"})

    def test_a_broadcast_that_is_skipped_for_no_cause(self):
        entry, each = self.slices(lambda each: each.get("end") == "done" and "devices" in each and not each["sent"])[-1]
        entry["passes"].remove(each)
        entry["skipped"].append({name: each[name] for name in ("partition", "broadcast", "id")} | {"reason": "expired"})
        self.assertEqual(self.kinds(), {"skipped without a cause"})

    def test_an_identity_that_is_wrong(self):
        self.slices()[0][1]["message_id"] = "msg-0-000000000"
        self.assertEqual(self.kinds(), {"wrong identity"})

    def test_a_lost_dead_letter(self):
        del self.letters[0]
        self.assertEqual(self.kinds(), {"lost dead letter"})

    def test_a_dead_letter_that_was_sent_twice(self):
        self.letters.append(self.letters[0])
        self.assertEqual(self.kinds(), {"dead letter twice"})

    def test_a_dead_letter_of_a_good_broadcast(self):
        key, value, headers = self.letters[0]
        good = str(self.slices()[0][1]["broadcast"]).encode()
        self.letters.append((key, value, tuple((name, good if name.endswith("offset") else each) for name, each in headers)))
        self.assertEqual(self.kinds(), {"unexpected dead letter"})

    def test_an_entry_of_another_group(self):
        self.entries()[5]["group"] = "another"
        self.assertIn("journal record not readable", self.kinds())

    def test_an_entry_without_its_partition(self):
        entry, _ = self.slices()[0]
        entry["ranges"] = []
        self.assertIn("journal record not readable", self.kinds())

    def test_an_entry_with_another_member(self):
        self.entries()[5]["w"] = 2
        self.assertIn("journal record not readable", self.kinds())


if __name__ == "__main__":
    unittest.main()
