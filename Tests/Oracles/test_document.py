"""The reference document's own JavaScript, run by Node, accepts and understands every push."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from pushes import expected, generated

from generator.inputs import compact, subscription
from harness.harness import Harness
from harness.rendering import records_of, render
from harness.seed import seed_of_run
from model.envelope import EVENT_TYPES
from model.records import Record, Settings

JUDGE = pathlib.Path(__file__).resolve().parent / "document-1" / "judge.mjs"
SEED = seed_of_run()

# Which function of the app the handler calls, and with what of the payload.
CALLED = {
    "event_order_created": "processOrderCreated",
    "event_timeslot_started": "processTimeslotStarted",
    "event_unpicked_orders_reminder": "processUnpickedReminder",
}


def judge(messages):
    """What the document's JavaScript says of each `{"data": …}`."""
    with tempfile.TemporaryDirectory(prefix="carillon-node.") as folder:
        lines = "".join(json.dumps({"data": data}) + "\n" for data in messages)
        done = subprocess.run(["node", JUDGE, folder], input=lines.encode(), capture_output=True, timeout=120)
    if done.returncode:
        raise AssertionError(f"node: {done.stderr.decode()[-1000:]}")
    return [json.loads(line) for line in done.stdout.decode().split("\n")[:-1]]


def data_of(record):
    """What the app gets as `remoteMessage.data`: through APNs it stands beside `aps`."""
    value = json.loads(record.value)
    if "message" in value:
        return value["message"]["data"]
    return {name: member for name, member in value["payload"].items() if name != "aps"}


def wanted_calls(payload):
    kind = payload["event_type"]
    if kind in CALLED:
        return [[CALLED[kind], payload]]
    if kind == "event_order_ids_listed":  # The document's handler has no case for it.
        return [["console.warn", "Unknown event type:", kind]]
    order, old, new = payload["order_id"], payload["previous_status"], payload["new_status"]
    return [
        ["updateOrderStatus", order, new],
        [
            "showNotification",
            {
                "title": "Order Status Updated",
                "body": f"Order #{payload['order_number']} is now {new}",
                "data": {"orderId": order, "previousStatus": old, "newStatus": new},
            },
        ],
    ]


class Document1(unittest.TestCase):
    def setUp(self):
        self.harness = Harness(SEED, os.environ)

    def check(self, payloads, messages):
        verdicts = judge(messages)
        self.assertEqual(len(verdicts), len(messages))
        for payload, data, verdict in zip(payloads, messages, verdicts):
            with self.subTest(seed=SEED, data=data):
                # An event without an order id is sent all the same (and marked x-degraded); the validator wants one.
                wanted = (
                    True
                    if payload["order_id"]
                    else ("Error: Missing required fields: order_id" + ("" if payload["parent_order_id"] else ", parent_order_id"))
                )
                self.assertEqual(verdict["valid"], wanted)
                self.assertEqual(verdict["parsed"], payload)
                self.assertEqual(list(verdict["parsed"]), list(payload), "the document's order of fields")
                self.assertIs(verdict["same"], True, "JSON.stringify writes other bytes")
                self.assertEqual(verdict["calls"], wanted_calls(payload))

    def test_every_push_is_valid_and_reaches_the_function_of_its_type(self):
        pushes = generated(self.harness, 1500, Settings("Europe/Berlin"))
        self.check([push.notification.payload for push in pushes], [data_of(push.record) for push in pushes])
        kinds = {push.notification.payload["event_type"] for push in pushes}
        self.assertEqual(kinds, {f"event_{name}" for name in EVENT_TYPES})
        self.assertEqual({push.device.platform for push in pushes}, {"fcm", "apns"})

    def test_text_that_wants_escaping_is_written_as_JSON_stringify_does(self):
        odd = ['"', "\\", "/", "\b\f\r\t", "\x01\x1f\x7f", "\u2028\u2029", "é€😀", "</script>", "a\nb", "\ufeff", "\u0000"]
        table = [Record("subscriptions", 0, 0, 0, *subscription("p", "t", environment="production"))]
        records = [
            Record(
                "orders.events",
                0,
                at,
                1,
                b"k",
                compact(
                    {"event_type": "ORDER_CREATED", "order": {"id": f"x{each}x", "place_id": "p", "order_number": f"n{each}n"}}
                ),
            )
            for at, each in enumerate(odd)
        ]
        wanted = expected(records, table, Settings())
        written = records_of(render(self.harness, records, [table[0].value]))
        self.assertEqual(len(written), len(odd))
        self.check([notification.payload for notification, _ in wanted.values()], [data_of(record) for record in written])

    def test_the_judge_refuses_what_is_wrong(self):
        data = data_of(generated(self.harness, 20, Settings("Europe/Berlin"))[0].record)
        payload = json.loads(data["default"])["data"]
        for member, wrong, complaint in (
            ("start_time", None, "Missing required fields: start_time"),
            ("place_id", "", "Missing required fields: place_id"),
            ("delivery_date", "07/07/2025", "Invalid delivery_date"),
            ("end_time", "4 PM", "Invalid time format"),
        ):
            changed = {name: value for name, value in (payload | {member: wrong}).items() if value is not None}
            (verdict,) = judge([{"default": json.dumps({"data": changed})}])
            self.assertIn(complaint, verdict["valid"])
            self.assertIs(verdict["same"], False)  # Python puts spaces.
        (verdict,) = judge([{"default": "{"}])
        self.assertIn("Failed to parse", verdict["valid"])
        self.assertIsNone(verdict["parsed"])
        self.assertIn("console.error", verdict["calls"][0])


if __name__ == "__main__":
    unittest.main()
