"""The schemas accept all that `carillon render` writes, for events and for requests."""

import collections
import json
import os
import tempfile
import unittest

from pushes import generated
from requested import AUDIENCE, OTHER_SETTINGS, TOPIC, render_requests, table
from requested import generated as generated_requests
from schemas import FOLDER, complaint, complaints, is_of_order, json_object

from generator.events import Events, Mix
from generator.inputs import Input, compact
from generator.own_types import own_types
from generator.requests import KINDS
from generator.subscriptions import make_subscriptions, well_formed
from harness.harness import Harness
from harness.rendering import has_text_headers, record_of, records_of, render
from harness.seed import seed_of_run
from model.records import Record, Settings

EXAMPLES = FOLDER.parent / "Examples"
SEED = seed_of_run()
EVERY_HEADER = ("--set", "dispatch.headers=event-type,app,order-id")


class Rendered(unittest.TestCase):
    def setUp(self):
        self.harness = Harness(SEED, os.environ)

    def check(self, records):
        for record in records:
            with self.subTest(seed=SEED, record=record):
                self.assertEqual(complaints(record, record.topic), [])
        return collections.Counter(record.topic for record in records)

    def test_what_render_writes_for_the_samples_is_accepted(self):
        events = [
            record_of(json.dumps({"topic": "orders.events", "payload": line}), at)
            if '"payload"' not in line
            else record_of(line, at)
            for at, line in enumerate((EXAMPLES / "events.jsonl").read_text().splitlines())
        ]
        table = (EXAMPLES / "subscriptions.jsonl").read_bytes().splitlines()
        counts = self.check(records_of(render(self.harness, events, table)))
        self.assertEqual(counts.keys(), {"notifications.dispatch", "notifications.dead-letters"})

    def test_what_it_writes_for_generated_events_is_accepted(self):
        counts = self.check([push.record for push in generated(self.harness, 600, Settings("Europe/Berlin"))])
        self.assertGreater(counts["notifications.dispatch"], 600)

    def test_what_it_writes_with_every_header_is_accepted(self):
        pushes = generated(self.harness, 200, Settings("UTC"), *EVERY_HEADER)
        self.check([push.record for push in pushes])
        names = {name for push in pushes for name, _ in push.record.headers}
        self.assertLessEqual({"event-type", "audience", "app", "order-id"}, names)

    def test_what_it_writes_for_event_types_of_the_settings_is_accepted(self):
        types = own_types(SEED)
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(json.dumps(types))
            file.flush()
            arguments = (*EVERY_HEADER, "--set", f"events.types=@{file.name}")
            pushes = generated(self.harness, 400, Settings("UTC", types=types), *arguments)
        self.check([push.record for push in pushes])
        found = {push.notification.payload["event_type"].removeprefix("event_") for push in pushes}
        self.assertLessEqual(types.keys(), found)

    def test_every_code_of_a_dead_letter_that_poison_gives_is_in_the_schema(self):
        places, subscriptions = make_subscriptions(SEED, places=5, crowd=1)
        events = Events(SEED, places, Mix(poison_rate=1))
        made = [each for each in (events.next() for _ in range(60)) if has_text_headers(each)]
        records = [Record("orders.events", 0, at, events.now, *each) for at, each in enumerate(made)]
        table = [each.value for each in well_formed(subscriptions)]
        written = records_of(render(self.harness, records, table))
        self.check(written)
        codes = {dict(record.headers)["x-error-code"] for record in written}
        self.assertGreater(len(codes), 5, codes)

    def test_what_it_writes_for_the_sample_requests_is_accepted(self):
        records = [record_of(line, at) for at, line in enumerate((EXAMPLES / "requests.jsonl").read_text().splitlines())]
        devices = [*(EXAMPLES / "subscriptions.jsonl").read_bytes().splitlines(), *map(compact, table())]
        written = records_of(render(self.harness, records, devices, "--set", f"topic.requests={TOPIC}"))
        self.assertEqual(self.check(written)["notifications.dead-letters"], 2)
        sent = {headers["source"] for record in written if "source" in (headers := dict(record.headers))}
        self.assertGreaterEqual(len(sent), 19)

    def test_what_it_writes_for_generated_requests_is_accepted_and_so_are_those_that_are_sent(self):
        for flags in ([], [*OTHER_SETTINGS[1], "--set", "requests.unknown-types=dead-letter", *EVERY_HEADER]):
            timed = generated_requests(SEED, 2_500, bad_rate=0.2)
            records, written = render_requests(self.harness, timed, *flags)
            counts = self.check(written)
            self.assertGreater(counts["notifications.dispatch"], 2_500)
            self.assertGreater(counts["notifications.dead-letters"], 400)
            headers = [dict(record.headers) for record in written]
            codes = {each["x-error-code"].decode() for each in headers if "x-error-code" in each}
            # The generator's turns through the kinds are over before the requests are.
            self.assertLessEqual({code for code, _ in KINDS.values()} | {"payload_too_large"}, codes)
            sent = {each["source"].decode() for each in headers if "x-error-code" not in each}
            self.check_requests([record for record in records if record.source in sent])

    def check_requests(self, records):
        """That the schemas of the requests' topic accept these. What is inside another envelope is no value of the schema."""
        judged = 0
        for record in records:
            headers = {name: value.decode() for name, value in record.headers}
            if record.traceparent is None:
                headers.pop("traceparent", None)  # A form that is not W3C's: it is sent without.
            value = json_object(record.value)
            with self.subTest(seed=SEED, record=record):
                self.assertIsNone(complaint(f"{TOPIC}.headers", headers))
                self.assertIsNone(complaint(f"{TOPIC}.key", record.key.decode()))
                if value is not None and "data_base64" not in value and "schema" not in value:
                    self.assertIsNone(complaint(f"{TOPIC}.value", value))
                    judged += 1
        self.assertGreater(judged, 1_000)

    def test_a_record_that_is_not_as_the_schemas_say_is_found(self):
        """So that the tests above say something of requests."""
        bill = {"type": "NewBill"}
        request = {"request_id": "1", "audience": AUDIENCE, "app": {"title": "42", "body": "b", "data": bill}}
        _, written = render_requests(self.harness, [(1, Input(AUDIENCE.encode(), compact(request)))])
        self.assertEqual({is_of_order(json.loads(record.value)) for record in written}, {False})
        for record in written:
            for change in (
                lambda value: value.pop("message" if "message" in value else "payload"),
                lambda value: value.get("message", value).pop("data" if "message" in value else "headers"),
                lambda value: value.update(extra=1),
                lambda value: value["message"]["data"].update(n=1) if "message" in value else value["payload"].pop("aps"),
            ):
                value = json.loads(record.value)
                change(value)
                with self.subTest(value=value):
                    self.assertNotEqual(complaints(record._replace(value=compact(value)), record.topic), [])
            for name in ("message-id", "platform", "source", "expires-at", "audience"):
                headers = tuple(each for each in record.headers if each[0] != name)
                self.assertNotEqual(complaints(record._replace(headers=headers), record.topic), [], name)


if __name__ == "__main__":
    unittest.main()
