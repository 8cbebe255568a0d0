import datetime
import json
import unittest
import zoneinfo

from model import orders, rules
from model.messages import message_id
from model.records import Record, Settings

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
START = 1_775_030_400_000  # 2026-04-01T08:00:00Z
BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")


class Instants(unittest.TestCase):
    def check(self, day, clock, zone, expected):
        found = datetime.datetime.fromtimestamp(orders.instant(day, clock, zoneinfo.ZoneInfo(zone)), datetime.timezone.utc)
        self.assertEqual(found.isoformat(), expected + "+00:00")

    def test_a_time_that_the_clock_skips_is_the_moment_of_the_change(self):
        self.check("2026-03-29", "02:30", "Europe/Berlin", "2026-03-29T01:00:00")
        self.check("2026-03-08", "02:00", "America/New_York", "2026-03-08T07:00:00")

    def test_a_time_that_comes_twice_is_the_first(self):
        self.check("2026-10-25", "02:30", "Europe/Berlin", "2026-10-25T00:30:00")
        # Half an hour.
        self.check("2026-04-05", "01:45", "Australia/Lord_Howe", "2026-04-04T14:45:00")

    def test_an_ordinary_time(self):
        self.check("2026-07-07", "14:00", "Europe/Berlin", "2026-07-07T12:00:00")


class Fold(unittest.TestCase):
    """Events of one order, each with the minute of its record."""

    def setUp(self):
        self.settings = Settings("Europe/Berlin")
        self.orders, self.offset = orders.Orders(self.settings), 0

    def take(self, minute, event_type="ORDER_CREATED", event_id=None, at=None, status="pending", slot="14:00", **more):
        order = {"id": "4711", "place_id": "42", "status": status, "shipping_info": {}}
        if slot:
            order["shipping_info"]["slot"] = {"date": "2026-04-01", "start_time": slot, "end_time": "16:00"}
        event = {
            "event_id": event_id or f"e{self.offset}",
            "event_type": event_type,
            "order": order,
            "occurred_at": START + (minute if at is None else at) * MINUTE,
        } | more
        record = Record("orders.events", 0, self.offset, START + minute * MINUTE, b"4711", json.dumps(event).encode())
        self.offset += 1
        found = rules.outcome_of(record, self.settings, self.orders)
        if found.dead_letter:
            return None
        return found.suppressed or [(n.payload.get("previous_status"), n.payload.get("new_status")) for n in found.notifications]

    def fire(self, minute):
        """(number, when) of the timers that go by a tick; those that do not with the reason."""
        now = START + minute * MINUTE
        end = orders.Watermark(now)
        found = [(timer.number, self.orders.decide(timer, now, now)[1]) for timer in self.orders.due(self.orders.watermark, end)]
        self.orders.watermark = end
        return found

    def test_the_previous_status_is_the_events_own_else_the_orders_else_unknown(self):
        self.assertEqual(self.take(0, "ORDER_STATUS_CHANGED", status="processing"), [("unknown", "processing")])
        self.assertEqual(self.take(1, "ORDER_STATUS_CHANGED", status="picking"), [("processing", "picking")])
        self.assertEqual(self.take(2, "ORDER_STATUS_CHANGED", status="picked", previous_status="on_hold"), [("on_hold", "picked")])
        self.assertEqual(self.take(3, "ORDER_STATUS_CHANGED", status="picked"), "not_a_transition")

    def test_a_repeated_event_is_a_duplicate_until_eight_others_have_come(self):
        self.take(0, event_id="a")
        self.assertEqual(self.take(1, event_id="a"), "duplicate")
        for number in range(8):
            self.take(2 + number)
        self.assertEqual(self.take(20, event_id="a"), [(None, None)])

    def test_an_order_that_has_ended_is_not_reopened_by_events_from_before_its_end(self):
        self.take(0)
        self.take(10, "ORDER_STATUS_CHANGED", status="cancelled")
        self.take(20, at=5)
        self.assertEqual(self.take(21, "ORDER_STATUS_CHANGED", status="x", at=6), [("cancelled", "x")])
        self.assertEqual(self.fire(24 * 60), [])
        # What comes after its end does.
        self.take(25 * 60, "ORDER_STATUS_CHANGED", status="pending", slot=None)
        self.assertEqual(self.take(25 * 60 + 1, "ORDER_STATUS_CHANGED", status="y", slot=None), [("pending", "y")])

    def test_an_order_without_a_type_is_a_change_where_the_status_before_is_known(self):
        self.assertEqual(self.take(0, None), None)  # A dead letter.
        self.settings.infer_status_changes = True
        self.assertEqual(self.take(1, None), "not_a_transition")
        self.assertEqual(self.take(2, None), "not_a_transition")
        self.assertEqual(self.take(3, None, status=None), "not_a_transition")
        self.assertEqual(self.take(4, None, status="picked"), [("pending", "picked")])

    def test_timers_of_upstream_are_not_sent(self):
        self.assertEqual(self.take(0, "TIMESLOT_STARTED"), "scheduled_here")

    def test_timers_are_due_at_the_slots_start_and_each_quarter_of_an_hour_after_it(self):
        self.take(0)
        # 14:00 in Berlin is 12:00 UTC, four hours after the start.
        self.assertEqual(
            [self.fire(minute) for minute in (239, 240, 254, 255, 270, 285, 999)],
            [[], [(0, None)], [], [(1, None)], [(2, None)], [(3, None)], []],
        )

    def test_after_a_pause_only_the_newest_reminder_that_is_not_too_late_fires(self):
        self.take(0)
        self.assertEqual(self.fire(271), [(0, "too_late"), (1, "too_late"), (2, None)])

    def test_reminders_fire_until_the_order_is_picked(self):
        self.take(0)
        self.take(1, "ORDER_STATUS_CHANGED", status="Processing")
        self.assertEqual(self.fire(255), [(0, None), (1, None)])
        self.take(256, "ORDER_STATUS_CHANGED", status="picked", slot=None)
        self.assertEqual(self.fire(270), [(2, "picked")])

    def test_timers_that_are_due_together_fire_by_the_hash_of_the_order_and_a_watermark_can_divide_them(self):
        for number in range(5):
            order = {
                "id": f"o{number}",
                "place_id": "42",
                "shipping_info": {"slot": {"date": "2026-04-01", "start_time": "14:00", "end_time": "16:00"}},
            }
            self.take(0, order=order)
        due = START + 240 * MINUTE
        expected = sorted((orders.stored_hash(f"o{number}".encode()), f"o{number}") for number in range(5))
        middle = orders.Watermark(due - 1, expected[2][0])
        first = self.orders.due(self.orders.watermark, middle)
        rest = self.orders.due(middle, orders.Watermark(due))
        self.assertEqual([timer.order_id for timer in first + rest], [order for _, order in expected])
        self.assertEqual(len(first), 3)

    def test_a_slot_that_moves_moves_its_timers_and_a_start_in_the_past_never_fires(self):
        self.take(0)
        self.take(1, slot="15:00")
        self.assertEqual(self.fire(299), [])
        self.take(310, slot="15:05")
        self.assertEqual(self.fire(320), [(1, None)])

    def test_a_slot_that_is_repeated_keeps_its_timers(self):
        self.take(0)
        self.take(250)
        self.assertEqual(self.fire(250), [(0, None)])

    def test_a_member_expires_a_horizon_after_the_record_that_set_it(self):
        self.take(0)
        self.take(13 * 24 * 60, "ORDER_STATUS_CHANGED", status="processing", slot=None)
        self.orders.begin(START + 14 * DAY)
        self.assertEqual(self.take(14 * 24 * 60 + 1, "ORDER_STATUS_CHANGED", status="x", slot=None), [("processing", "x")])
        self.orders.begin(START + 29 * DAY)
        self.assertEqual(self.take(29 * 24 * 60, "ORDER_STATUS_CHANGED", status="y", slot=None), [("unknown", "y")])

    def test_a_record_from_the_future_counts_as_an_hour_after_the_clock(self):
        self.take(0, event_id="a")
        self.orders.begin(2**63 - 1, clock=START)
        self.assertEqual(self.take(1, event_id="a"), "duplicate")
        self.assertEqual(self.orders.newest, START + HOUR)
        self.orders.begin(2**63 - 1)
        self.assertEqual(self.take(2, event_id="a"), [(None, None)])

    def test_beyond_the_limit_the_order_that_was_touched_longest_ago_is_forgotten(self):
        self.settings.max_bytes = 2 * (orders.ORDER_BYTES + 2)

        def take(minute, order_id):
            order = {"id": order_id, "place_id": "42", "status": "pending"}
            return self.take(minute, event_id=order_id, order=order)

        sent = [(None, None)]
        self.assertEqual([take(0, "o1"), take(1, "o2"), take(2, "o1"), take(3, "o3")], [sent, sent, "duplicate", sent])
        self.assertEqual([take(4, "o1"), take(5, "o2")], ["duplicate", sent])
        # What has expired makes room.
        self.settings.retention_seconds = 60
        order = {"id": "o1", "place_id": "42", "status": "failed"}
        self.assertEqual(self.take(6, "ORDER_STATUS_CHANGED", order=order), [("pending", "failed")])
        self.assertEqual([take(8, "o3"), take(9, "o2")], [sent, "duplicate"])

    def test_a_long_text_is_as_one_that_was_never_said(self):
        self.assertEqual(self.take(0, "ORDER_STATUS_CHANGED", status="x" * 64), [("unknown", "x" * 64)])
        self.assertEqual(self.take(1, "ORDER_STATUS_CHANGED", status="x" * 65), [("x" * 64, "x" * 65)])
        self.assertEqual(self.take(2, "ORDER_STATUS_CHANGED", status="x"), [("unknown", "x")])
        for count, expected in ((255, "duplicate"), (256, [(None, None)])):
            order = {"id": "i" * count, "place_id": "p" * 65, "status": "pending"}
            self.take(3, event_id="e", order=order)
            self.assertEqual(self.take(4, event_id="e", order=order), expected)

    def test_the_whole_day_is_no_slot(self):
        self.take(
            0,
            slot="00:00",
            order={
                "id": "4711",
                "place_id": "42",
                "shipping_info": {"slot": {"date": "2026-04-02", "start_time": "00:00", "end_time": "23:59"}},
            },
        )
        self.assertEqual(self.fire(5 * 24 * 60), [])

    def test_the_message_id_of_a_timer_is_that_of_section_6(self):
        order = "742ba33c-0c02-43e7-80b0-eb795c14dc6f"
        found = message_id("timer", [order, "2025-07-07", "14:00", "1"], "event_unpicked_orders_reminder", order, 1751897700000)
        self.assertEqual(found, "msg-1751897700000-z51zax4yg")
