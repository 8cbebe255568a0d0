"""The verifier must find what it is there to find: each test spoils a right output in one way."""

import collections
import hashlib
import json
import unittest

from model import generate
from model import rules
from model import verify
from model.orders import Orders, Watermark, stored_hash

SETTINGS = rules.Settings("Europe/Berlin")
PARTITIONS = 6
SEED = 20260301
EVENTS = 600
MAX_TABLE_AGE_MS = 5_000
START_MS = generate.BASE_MS + 8 * 3_600_000


class World:
    """A small input and the right output for it; an event a second, and a tick whenever a timer is due."""

    def __init__(self):
        places, subscriptions = generate.make_subscriptions(SEED, places=20, crowd=30)
        changes = generate.SubscriptionChanges(SEED, places, subscriptions)
        self.frozen = len(subscriptions)
        subscriptions = subscriptions + [changes.next() for _ in range(EVENTS)]
        # The changes come one a second, one before each event.
        self.table = [
            rules.Record("subscriptions", 0, at, START_MS + max(0, at - self.frozen + 1) * 1000, *each)
            for at, each in enumerate(subscriptions)
        ]
        self.subscriptions = rules.Subscriptions(self.table)
        events = generate.Events(SEED, places, 0.05, START_MS + 360_000, SETTINGS.time_zone)
        self.ends, self.states = collections.Counter(), {}
        self.records, self.dispatch, self.letters, self.journal, self.ticks = [], [], [], [], []
        # What must not be sent: to a device that has gone, for a duplicate, for an order that has been picked.
        self.unsubscribed = self.duplicate = self.picked = None
        for number in range(EVENTS):
            self.position = [self.frozen + number + 1]
            self.now = START_MS + number * 1000
            self._event(events.next())
            self.now += 500
            for partition, state in self.states.items():
                if state.next_due(self.now) is not None:
                    self._tick(partition, state)

    def _entry(self, partition, before, after, record=None):
        at = self.ends[partition] if record is None else record.offset
        span = {"topic": "orders.events", "partition": partition, "from": at, "to": at}
        if record is not None:
            span |= {"to": at + 1, "first": {"offset": at, "timestamp": record.timestamp, "key": stored_hash(record.key)}}
        mark = {"topic": "orders.events", "partition": partition, "before": before.w, "after": after.w}
        mark |= {f"{name}_p": each.p for name, each in (("before", before), ("after", after)) if each.p}
        if after > before:
            mark["until"] = self.now
        return {
            "v": 2,
            "group": "g",
            "cluster": "c",
            "dispatch": "dispatch",
            "ranges": [span],
            "watermarks": [mark],
            "clock": self.now,
            "table": self.position,
            "rules": "abc",
        }

    def _event(self, each):
        partition = verify.murmur2_partition(each.key or b"", PARTITIONS)
        record = rules.Record("orders.events", partition, self.ends[partition], self.now, *each)
        self.ends[partition] += 1
        self.records.append(record)
        if partition not in self.states:
            self.states[partition] = Orders(SETTINGS)
            self.states[partition].watermark = Watermark(START_MS)
        state = self.states[partition]
        self.journal.append(self._entry(partition, state.watermark, state.watermark, record))
        outcome = rules.outcome_of(record, SETTINGS, state)
        if outcome.suppressed == "duplicate" and not self.duplicate:
            # As if nothing were known of its order.
            again = rules.outcome_of(record, SETTINGS)
            self.duplicate = next((push(n, device, record) for n in again.notifications for device in self._devices(n)), None)
        reached = [(n, self._devices(n)) for n in outcome.notifications]
        if any(devices and rules.is_too_large(n) for n, devices in reached):
            outcome = rules.Outcome(dead_letter=frozenset(["payload_too_large"]))
        if outcome.dead_letter:
            headers = {
                "topic": "orders.events",
                "partition": str(partition),
                "offset": str(record.offset),
                "exception.message": "why",
            }
            ours = tuple((f"__connect.errors.{name}", value.encode()) for name, value in headers.items())
            code = (("x-error-code", sorted(outcome.dead_letter)[0].encode()),)
            self.letters.append((record.key, record.value, record.headers + ours + code))
            return
        for notification, devices in reached:
            self.dispatch += [push(notification, device, record) for device in devices]
            gone = [each for each in self._devices(notification, [self.frozen]) if each not in devices]
            if gone:
                self.unsubscribed = push(notification, gone[0], record)

    def _tick(self, partition, state):
        source = rules.Record("schedule", partition, self.ends[partition], 0, None, None)
        end = Watermark(self.now)
        timers = state.due(state.watermark, end)
        for number, timer in enumerate(timers):
            # Slices of three.
            if number % 3 == 2 and timer != timers[-1]:
                self.ticks.append(self._entry(partition, state.watermark, timer.watermark))
                state.watermark = timer.watermark
            notification, reason = state.decide(timer, self.now, self.now)
            if notification:
                self.dispatch += [push(notification, device, source) for device in self._devices(notification)]
            elif reason == "picked":
                notification = state._notification(timer, state._orders[timer.order_id])
                self.picked = next((push(notification, device, source) for device in self._devices(notification)), self.picked)
        self.ticks.append(self._entry(partition, state.watermark, end))
        state.watermark = end

    def _devices(self, notification, position=None):
        return list(rules.recipients(notification, self.subscriptions, SETTINGS, position or self.position))


def push(notification, device, record):
    headers = rules.headers_of(notification, device, record, SETTINGS)
    return (
        device.token_hash.encode(),
        json.dumps(rules.value_of(notification, device, SETTINGS)).encode(),
        tuple((name, value.encode()) for name, value in headers.items()),
    )


class Verifier(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = World()

    def setUp(self):
        world = self.world
        self.records, self.table, self.ends, self.unsubscribed = world.records, world.table, world.ends, world.unsubscribed
        self.max_table_age_ms = MAX_TABLE_AGE_MS
        self.timers_until = world.now
        self.dispatch, self.letters = list(world.dispatch), list(world.letters)
        self.journal, self.ticks = json.loads(json.dumps([world.journal, world.ticks]))

    def kinds(self):
        """The kinds of difference that the verifier finds now."""
        offsets, dispatch = collections.Counter(), []
        for key, value, headers in self.dispatch:
            partition = verify.murmur2_partition(key, PARTITIONS)
            dispatch.append(rules.Record("dispatch", partition, offsets[partition], 0, key, value, headers))
            offsets[partition] += 1
        report = verify.verify(
            self.records,
            self.table,
            dispatch,
            [rules.Record("dead", 0, at, 0, *each) for at, each in enumerate(self.letters)],
            [
                rules.Record("journal", 0, at, 0, b"a-0", json.dumps(each).encode())
                for at, each in enumerate(self.journal + self.ticks)
            ],
            SETTINGS,
            {("orders.events", partition): 0 for partition in self.ends},
            {("orders.events", partition): end for partition, end in self.ends.items()},
            PARTITIONS,
            self.max_table_age_ms,
            timers_until=self.timers_until,
        )
        return {kind for kind, _ in report.differences}

    def letter(self, **changes):
        """Changes the first dead letter that has headers of its own."""
        index = next(at for at, each in enumerate(self.letters) if any(name == "x-binary" for name, _ in each[2]))
        letter = dict(zip(("key", "value", "headers"), self.letters[index]))
        self.letters[index] = tuple((letter | {k: change(letter[k]) for k, change in changes.items()}).values())

    def test_right_output_has_no_difference(self):
        self.assertGreater(len(self.dispatch), 500)
        self.assertGreaterEqual(len(self.letters), len(generate.POISONS))
        self.assertEqual(self.kinds(), set())

    def test_a_lost_push(self):
        del self.dispatch[100]
        self.assertEqual(self.kinds(), {"lost push (I1, I4)"})

    def test_a_push_that_came_twice(self):
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

    def test_a_wrong_header(self):
        key, value, headers = self.dispatch[7]
        self.dispatch[7] = (key, value, headers[:-1] + (("expires-at", b"0"),))
        self.assertEqual(self.kinds(), {"wrong headers"})

    def test_a_lost_dead_letter(self):
        del self.letters[2]
        self.assertEqual(self.kinds(), {"lost dead letter"})

    def test_a_dead_letter_that_came_twice(self):
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

    def test_a_journal_range_that_came_twice(self):
        self.journal.append(self.journal[50])
        self.assertEqual(self.kinds(), {"journal repeats offsets (I7)"})

    def test_a_journal_record_without_the_tables_position(self):
        self.journal[3]["table"] = None
        self.assertIn("journal record incomplete", self.kinds())

    def test_a_table_that_went_back(self):
        by_partition = [each for each in self.journal if each["ranges"][0]["partition"] == 2]
        by_partition[20]["table"] = [by_partition[21]["table"][0] + 1]
        self.assertIn("the table went back (I5)", self.kinds())

    def test_a_table_that_stays_behind(self):
        self.journal[300]["clock"] += 3_000 + MAX_TABLE_AGE_MS
        self.assertEqual(self.kinds(), {"the table is too old (I5)"})

    def test_a_table_that_is_not_at_the_end_of_a_topic_that_stood_still(self):
        self.max_table_age_ms = None
        self.assertEqual(self.kinds(), {"the table is too old (I5)"})

    def test_a_push_to_a_device_that_has_unsubscribed(self):
        self.dispatch.append(self.unsubscribed)
        self.assertEqual(self.kinds(), {"pushed while not subscribed (I5)"})

    def test_a_push_for_an_event_that_came_before(self):
        self.dispatch.append(self.world.duplicate)
        self.assertEqual(self.kinds(), {"unexpected push (I2)"})

    def test_a_reminder_of_an_order_that_has_been_picked(self):
        self.dispatch.append(self.world.picked)
        self.assertEqual(self.kinds(), {"unexpected push (I2)"})

    def test_a_timer_that_was_not_sent(self):
        at = next(at for at, each in enumerate(self.dispatch) if dict(each[2])["source"].startswith(b"schedule/"))
        del self.dispatch[at]
        self.assertEqual(self.kinds(), {"lost push (I1, I4)"})

    def test_a_tick_that_no_journal_knows(self):
        del self.ticks[1]
        self.assertIn("unexpected push (I2)", self.kinds())

    def test_a_tick_that_came_twice(self):
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

    def test_a_journal_of_the_first_version(self):
        for each in self.journal:
            for name in ("v", "group", "cluster", "dispatch"):
                del each[name]
            del each["ranges"][0]["first"], each["watermarks"][0]["topic"]
        self.assertEqual(self.kinds(), set())

    def test_timers_that_were_early(self):
        self.ticks[1]["clock"] -= 1
        self.assertEqual(self.kinds(), {"timers early (I8)"})

    def test_a_tick_that_overtook_the_log(self):
        at = next(at for at, each in enumerate(self.ticks) if each["ranges"][0]["to"] > 1)
        self.ticks[at]["ranges"][0]["from"] -= 1
        self.ticks[at]["ranges"][0]["to"] -= 1
        self.assertIn("timers overtook the log (I8)", self.kinds())

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

    def table_kinds(self, folded, position):
        """The kinds of difference of a table that was made of `folded` and says that it stands at `position`."""
        count, digest = verify.table_digest(rules.Subscriptions(folded), [position])
        report = verify.Report()
        found = {"offsets": [position], "devices": count, "digest": digest}
        verify.check_table(found, "a", rules.Subscriptions(self.table), report)
        return {kind for kind, _ in report.differences}

    def test_murmur2_is_javas(self):
        # From Apache Kafka's own UtilsTest.
        for key, expected in (
            (b"21", -973932308),
            (b"foobar", -790332482),
            (b"a-little-bit-long-string", -985981536),
            (b"a-little-bit-longer-string", -1486304829),
            (b"abc", 479470107),
        ):
            self.assertEqual(verify.murmur2_partition(key, 1 << 31), expected & 0x7FFFFFFF)


class Superseding(unittest.TestCase):
    """Three changes of one order, and one of another; what may be sent of them follows from the transactions."""

    SETTINGS = rules.Settings("Europe/Berlin", superseding=frozenset({"order_status_changed"}))

    def kinds(self, sent, *ends):
        """The differences where the events at these offsets are sent, by transactions that end at `ends`."""
        value = {"audience": "place/42", "token": "t", "platform": "fcm", "app": "a", "environment": "production"}
        key = f"place/42|{hashlib.sha256(b't').hexdigest()}".encode()
        table = [rules.Record("subscriptions", 0, 0, 0, key, json.dumps(value).encode())]
        records = [
            self.record(at, order, status)
            for at, (order, status) in enumerate((("1", "picking"), ("2", "picking"), ("1", "packed"), ("1", "picked")))
        ]
        state, dispatch = Orders(self.SETTINGS), []
        (device,) = rules.Subscriptions(table).at("place/42")
        for record in records:
            (notification,) = rules.outcome_of(record, self.SETTINGS, state).notifications
            if record.offset in sent:
                pushed = push(notification, device, record)
                dispatch.append(rules.Record("dispatch", 0, len(dispatch), 0, *pushed))
        journal = [
            {
                "ranges": [{"topic": "orders.events", "partition": 0, "from": first, "to": last}],
                "rules": "abc",
                "table": [1],
                "watermarks": [{"partition": 0, "before": 1, "after": 1}],
                "clock": START_MS,
            }
            for first, last in zip((0, *ends), ends)
        ]
        report = verify.verify(
            records,
            table,
            dispatch,
            [],
            [rules.Record("journal", 0, at, 0, b"a-0", json.dumps(each).encode()) for at, each in enumerate(journal)],
            self.SETTINGS,
            {("orders.events", 0): 0},
            {("orders.events", 0): 4},
            1,
        )
        return {kind for kind, _ in report.differences}

    def record(self, offset, order, status):
        event = {
            "event_id": f"e{offset}",
            "event_type": "ORDER_STATUS_CHANGED",
            "order": {"id": order, "place_id": "42", "status": status},
        }
        return rules.Record("orders.events", 0, offset, START_MS + offset, order.encode(), json.dumps(event).encode())

    def test_of_one_transaction_the_newest_push_of_each_order(self):
        self.assertEqual(self.kinds({1, 3}, 4), set())

    def test_another_transaction_supersedes_nothing(self):
        self.assertEqual(self.kinds({1, 2, 3}, 3, 4), set())

    def test_a_superseded_push_that_was_sent(self):
        self.assertEqual(self.kinds({0, 1, 3}, 4), {"unexpected push (I2)"})

    def test_a_push_that_was_left_out_for_one_of_another_transaction(self):
        self.assertEqual(self.kinds({1, 3}, 3, 4), {"lost push (I1, I4)"})


class WithoutTimers(unittest.TestCase):
    def test_a_watermark_may_pass_events_that_are_still_to_come(self):
        records = [rules.Record("orders.events", 0, at, START_MS, None, None) for at in range(2)]
        span = verify.Span(
            0, 1, None, START_MS + 9_000, "journal/0/0", Watermark(START_MS), Watermark(START_MS + 9_000), START_MS + 9_000
        )
        for has_timers, kinds in ((False, []), (True, ["timers overtook the log (I8)"])):
            report = verify.Report()
            verify._check_watermarks({("orders.events", 0): [span]}, records, has_timers, False, report)
            self.assertEqual([kind for kind, _ in report.differences], kinds)


class Stalls(unittest.TestCase):
    """Samples of a last stable offset and its partition's end, one a second."""

    def kinds(self, samples, limit):
        report = verify.Report()
        verify.check_stalls([(at, None if each is None else {"p": each}) for at, each in enumerate(samples)], limit, report)
        return {kind for kind, _ in report.differences}

    def test_one_that_stands_too_long(self):
        self.assertEqual(self.kinds([(5, 9)] * 12, 10), {"last stable offset stalls (I10)"})

    def test_one_that_moves_in_time(self):
        self.assertEqual(self.kinds([(5, 9)] * 9 + [(6, 9)] * 9 + [(9, 9)] + [(9, 12)] * 9, 10), set())

    def test_a_quiet_partition_does_not_stall(self):
        self.assertEqual(self.kinds([(9, 9)] * 30, 10), set())

    def test_a_broker_that_is_away_starts_the_count_anew(self):
        self.assertEqual(self.kinds([(5, 9)] * 9 + [None] * 30 + [(5, 9)] * 9, 10), set())
