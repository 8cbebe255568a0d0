"""Event types that the settings declare: docs/rules.md, section 5.7."""

import json
import pathlib
import re
import unittest

from model.envelope import event_type_of
from model.records import Record, Settings
from model.rules import outcome_of

PAGE = (pathlib.Path(__file__).parents[3] / "docs/rules.md").read_text()
TYPES = json.loads(re.search(r"```json\n(.*?)\n```", PAGE[PAGE.index("### 5.7") :], re.S)[1])
ORDER = {"id": "o1", "place_id": "p1", "delay_minutes": 20, "delay": {"reason": " Snow "}, "customer": {"id": 7}}


def outcome(event_type, order, **settings):
    value = json.dumps({"event_type": event_type, "occurred_at": "2025-07-07T10:00:00Z", "order": order}).encode()
    return outcome_of(Record("orders.events", 0, 0, 0, b"o1", value), Settings(types=TYPES, **settings))


class Types(unittest.TestCase):
    def test_a_name_is_compared_as_those_of_document_1_are_and_the_longest_counts(self):
        types = {"delayed": {}, "late": {"names": ["ORDER_DELAYED"]}, "big": {"names": ["big.order.created"]}}
        for name, expected in (
            ("Order_Delayed", "late"),
            ("event_order_delayed", "late"),
            ("com.shop.order.delayed.v2", "late"),
            ("com.shop.delayed", "delayed"),
            ("MY_ORDER_DELAYED", None),
            ("LATE", None),
            ("com.big.order.created", "big"),
            ("com.small.order.created", "order_created"),
        ):
            self.assertEqual(event_type_of(name, types), expected, name)

    def test_the_members_come_after_document_1s(self):
        notification = outcome("ORDER_DELAYED", ORDER).notifications[0]
        self.assertEqual(list(notification.payload)[-3:], ["place_id", "delay_minutes", "reason"])
        self.assertEqual(notification.payload["event_type"], "event_order_delayed")
        self.assertEqual((notification.payload["delay_minutes"], notification.payload["reason"]), ("20", "Snow"))
        self.assertEqual(notification.audiences, ["place/p1", "user/7"])
        long = outcome("ORDER_DELAYED", ORDER | {"delay_minutes": "é" * 513})
        self.assertEqual(long.dead_letter, {"payload_too_large"})

    def test_an_order_that_is_optional_is_not_missed(self):
        closed = outcome("STORE_CLOSED", {"place_id": "p1"}).notifications[0]
        self.assertEqual((closed.order_id, closed.degraded), ("", False))
        self.assertTrue(outcome("ORDER_DELAYED", ORDER | {"id": None}).notifications[0].degraded)

    def test_a_type_that_is_declared_nowhere_is_unknown(self):
        self.assertEqual(outcome("ORDER_TELEPORTED", ORDER).dead_letter, {"unknown_type"})
