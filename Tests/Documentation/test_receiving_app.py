"""Examples/receiving-app shows what users see of the pushes that `carillon render` writes, and docs/receiving.md shows the JSON
that phones get of them."""

import json
import os
import re
import subprocess
import tempfile
import unittest

from program import ROOT, run

APP = ROOT / "Examples/receiving-app"


def build():
    """The program: the one that RECEIVING_APP names, if it is set."""
    if built := os.environ.get("RECEIVING_APP"):
        return built
    command = ["swift", "build", "--package-path", APP, "--scratch-path", ROOT / ".build/receiving-app"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    shown = subprocess.run([*command, "--show-bin-path"], check=True, capture_output=True, text=True)
    return f"{shown.stdout.strip()}/receiving-app"


def first_events(count):
    """What is rendered for the first sample events."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as events:
        events.writelines((ROOT / "Examples/events.jsonl").read_text().splitlines(keepends=True)[:count])
        events.flush()
        code, output, errors = run(["render", "--subscriptions", str(ROOT / "Examples/subscriptions.jsonl"), events.name])
    if code != 0:
        raise AssertionError(errors)
    return output


PAGE = ROOT / "docs/receiving.md"
# Of each example on the page: the record that gives it.
TITLES = {"en": {"order_created": {"title": "Order {visible_id}", "body": "{start_time} to {end_time}"}}}
ORDER = {"id": "4711", "order_number": "A-17", "place_id": "42", "order_type": "food"}
SLOT = {"slot": {"date": "2026-11-21", "start_time": "14:00", "end_time": "16:00"}}
CREATED = {"event_type": "ORDER_CREATED", "occurred_at": "2026-11-21T10:00:00Z", "order": ORDER | {"shipping_info": SLOT}}
CHANGED = {
    "event_type": "ORDER_STATUS_CHANGED",
    "occurred_at": "2026-11-21T11:00:00Z",
    "previous_status": "pending",
    "new_status": "picked",
    "order": ORDER | {"shipping_info": SLOT},
}
LISTED = {"event_type": "ORDER_IDS_LISTED", "occurred_at": "2026-11-21T12:00:00Z", "place_id": "42", "order_ids": ["4711"]}
BILL = {
    "requested_at": "2026-11-21T10:00:00Z",
    "audience": "user/17",
    "app": {"title": "New bill", "body": "23.40 €", "data": {"type": "NewBill", "bill_id": "B-1021"}},
}
MESSAGE = {
    "requested_at": "2026-11-21T10:00:00Z",
    "audience": "user/17",
    "message": {
        "title": "On its way",
        "body": "Tap to track it.",
        "badge": 3,
        "extras": {"order_type": "food", "order_id": "4711", "stops": 2},
    },
}
BROADCAST = {
    "actiontype": "display",
    "notificationtype": "downtime",
    "notificationid": "1235",
    "published_at": "2026-11-21T10:00:00Z",
    "expiry": "14400000millis",
    "fields": [
        {"language": "en", "title": "Maintenance", "msg": "Back at noon."},
        {"language": "de", "title": "Wartung", "msg": "Um zwölf zurück."},
    ],
}
EXAMPLES = {
    "An order": ("orders.events", CREATED, "place/42", False),
    "An order with display=on": ("orders.events", CREATED, "place/42", True),
    "A change of status": ("orders.events", CHANGED, "place/42", False),
    "An order of a list": ("orders.events", LISTED, "place/42", False),
    "An app notification": ("notifications.requests", BILL, "user/17", False),
    "A message": ("notifications.requests", MESSAGE, "user/17", False),
    "A broadcast": ("notifications.broadcasts", BROADCAST, "channel/General", False),
}


def rendered(topic, value, audience, is_shown):
    """The bodies that `carillon render` writes for an FCM device and an APNs device."""
    devices = [
        {"platform": "fcm", "token": "made-up-token"},
        {"platform": "apns", "token": "0a1b2c3d", "environment": "production"},
    ]
    common = {"audience": audience, "app": "com.example.shop", "locale": "en"}
    with tempfile.TemporaryDirectory() as folder:

        def file(name, *values):
            path = f"{folder}/{name}"
            with open(path, "w") as out:
                out.writelines(json.dumps(each) + "\n" for each in values)
            return path

        templates = file("display.json", {"default": "en", "languages": TITLES})
        arguments = ["--topic", topic, "--subscriptions", file("devices", *(each | common for each in devices))]
        settings = ["topic.requests=notifications.requests", "topic.broadcasts=notifications.broadcasts"]
        settings += [f"display.templates=@{templates}", "display=on"] if is_shown else []
        flags = [part for setting in settings for part in ("--set", setting)]
        code, output, errors = run(["render", *arguments, *flags, file("value", value)])
    if code != 0:
        raise AssertionError(errors)
    bodies = [json.loads(json.loads(line)["payload"]) for line in output.splitlines()]
    return next(body["message"] for body in bodies if "message" in body), next(body for body in bodies if "payload" in body)


def contract(topic, value, audience, is_shown):
    """What the app is handed. Tests/NotificationsTests/Render/Providers/Phone.swift says what the providers' libraries do."""
    fcm, apns = rendered(topic, value, audience, is_shown)
    shown = fcm.get("notification", {}) | fcm["android"].get("notification", {})
    android = ({"notification": shown} if shown else {}) | {"data": fcm["data"]}
    aps = fcm["apns"].get("payload", {}).get("aps", {})
    if "notification" in fcm:
        aps = {"alert": fcm["notification"]} | aps
    through_fcm = {"aps": aps} | fcm["data"] | {"gcm.message_id": "1795255200123456"}
    return {"Android": android, "iOS through FCM": through_fcm, "iOS through APNs": apns["payload"]}


class ContractOfThePage(unittest.TestCase):
    maxDiff = None

    def test_each_example_is_what_is_sent(self):
        shown = dict(re.findall(r"^#### ([^\n]*)\n\n```json\n(.*?)^```", PAGE.read_text(), re.M | re.S))
        self.assertEqual(shown.keys(), EXAMPLES.keys())
        for title, example in EXAMPLES.items():
            with self.subTest(title):
                self.assertEqual(json.loads(shown[title]), contract(*example))

    def test_the_payload_of_an_order_is_the_one_in_default_and_has_the_fields_of_the_schema(self):
        page = PAGE.read_text()
        block = re.search(r"```json\n(\{\n  \"data\".*?)```", page, re.S)[1]
        data = contract(*EXAMPLES["A change of status"])["Android"]["data"]
        self.assertEqual(json.loads(block), json.loads(data["default"]))
        schema = json.loads((ROOT / "Schemas/notification.payload.schema.json").read_text())
        table = page.split("| Field | Meaning |")[1].split("\n\n")[0]
        named = [name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split("|")[1])]
        self.assertEqual(sorted(named), sorted(schema["properties"]))


class CodeOfThePage(unittest.TestCase):
    def test_what_is_said_to_be_of_a_file_is_in_it(self):
        pages = PAGE.read_text() + (ROOT / "docs/registering.md").read_text()
        blocks = re.findall(r"```swift\n// (Examples/\S+)\n(.*?)```", pages, re.S)
        self.assertEqual(len(blocks), 2)
        for path, code in blocks:
            self.assertIn(code, (ROOT / path).read_text())


class ReceivingApp(unittest.TestCase):
    maxDiff = None

    def test_each_device_shows_every_push_once(self):
        records = first_events(4)
        shown = subprocess.run(
            [build(), "--links", ROOT / "Examples/document-3.properties"],
            input=records * 2,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        self.assertEqual(shown, (APP / "expected.txt").read_text())


if __name__ == "__main__":
    unittest.main()
