"""The schemas accept every example and real output, and refuse what is wrong."""

import copy
import json
import os
import pathlib
import subprocess
import unittest

import jsonschema
import referencing
import yaml

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parent / "Examples"
SCHEMAS = {path.name.removesuffix(".schema.json"): json.loads(path.read_text()) for path in HERE.glob("*.schema.json")}
REGISTRY = referencing.Registry().with_resources(
    (schema["$id"], referencing.Resource.from_contents(schema)) for schema in SCHEMAS.values())

# Ways to spoil the first example of a schema; each must be refused. Values replace members by their path.
WRONG = {
    "orders.events.value": [{"event_type": "ORDER_TELEPORTED"}, {"order": "none"}],
    "orders.events.headers": [{"ce_specversion": "1.0"}, {"traceparent": "none"}],
    "notifications.subscriptions.key": ["place/1", "place/1|ABC"],
    "notifications.subscriptions.value": [{"platform": "sms"}, {"token": "two words"}, {"platform": "apns"}, {"last_seen_at": "today"}],
    "notification.payload": [{"start_time": "25:99"}, {"delivery_date": "2025-13-45"}, {"place_id": ""}, {"extra": "x"},
                             {"event_type": "event_order_status_changed"}, {"new_status": "picked"}],
    "notifications.dispatch.key": ["no-hash"],
    "notifications.dispatch.value": [{"notification": {}}, {"message/token": ""}, {"message/data/order_id": "1"},
                                     {"message/data/default": 1}, {"message/apns/headers/apns-priority": "10"}],
    "notifications.dispatch.headers": [{"platform": "sms"}, {"source": "orders.events"}, {"token": "secret"}],
    "notifications.dead-letters.headers": [{"x-error-code": "bad_luck"}, {"__connect.errors.offset": "x"}],
    "notifications.journal.key": ["shop"],
    "notifications.journal.value": [{"ranges": [{"topic": "a", "partition": 0, "from": -1, "to": 2}]}, {"table": [-1]}, {"rules": ""}],
}


def validator(name):
    return jsonschema.Draft202012Validator(SCHEMAS[name], registry=REGISTRY)


def accept(test, name, value):
    error = jsonschema.exceptions.best_match(validator(name).iter_errors(value))
    test.assertIsNone(error, f"{name}: {error and error.message} in {json.dumps(value, ensure_ascii=False)[:400]}")


def spoiled(example, change):
    if not isinstance(change, dict):
        return change
    value = copy.deepcopy(example)
    for path, wrong in change.items():
        *parents, last = path.split("/") if path.startswith("message/") else [path]
        target = value
        for parent in parents:
            target = target[parent]
        target[last] = wrong
    return value


def default_of(value):
    """What the app reads of a dispatch record's value."""
    data = value["message"]["data"] if "message" in value else value["payload"]
    return json.loads(data["default"])["data"]


class Schemas(unittest.TestCase):
    def test_every_schema_is_one(self):
        for name, schema in SCHEMAS.items():
            with self.subTest(name):
                jsonschema.Draft202012Validator.check_schema(schema)
                self.assertTrue(schema["examples"] and schema["description"])
                self.assertEqual(schema["$id"].rpartition("/")[2], f"{name}.schema.json")

    def test_every_example_is_accepted(self):
        for name, schema in SCHEMAS.items():
            for example in schema["examples"]:
                with self.subTest(name):
                    accept(self, name, example)

    def test_a_wrong_one_is_refused(self):
        self.assertEqual(WRONG.keys(), SCHEMAS.keys())
        for name, changes in WRONG.items():
            for change in changes:
                with self.subTest(name, change=change):
                    value = spoiled(SCHEMAS[name]["examples"][0], change)
                    self.assertFalse(validator(name).is_valid(value), value)

    def test_no_required_member_can_be_left_out(self):
        for name, schema in SCHEMAS.items():
            for member in schema.get("required", []):
                with self.subTest(name, member=member):
                    value = dict(schema["examples"][0])
                    del value[member]
                    self.assertFalse(validator(name).is_valid(value))

    def test_what_the_app_reads_is_a_payload(self):
        for example in SCHEMAS["notifications.dispatch.value"]["examples"]:
            accept(self, "notification.payload", default_of(example))

    def test_the_samples_are_accepted(self):
        for line in (EXAMPLES / "subscriptions.jsonl").read_text().splitlines():
            accept(self, "notifications.subscriptions.value", json.loads(line))
        for event in map(json.loads, (EXAMPLES / "events.jsonl").read_text().splitlines()):
            if "payload" not in event:
                accept(self, "orders.events.value", event)
                continue
            headers = event.get("headers", [])
            accept(self, "orders.events.headers", dict(zip(headers[::2], headers[1::2])))

    @unittest.skipUnless(os.environ.get("CARILLON"), "CARILLON does not name a build of carillon")
    def test_what_render_writes_is_accepted(self):
        command = [os.environ["CARILLON"], "render", "--subscriptions", EXAMPLES / "subscriptions.jsonl", EXAMPLES / "events.jsonl"]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
        topics = set()
        for line in map(json.loads, lines):
            topic, headers = line["topic"], line.get("headers") or []
            topics.add(topic)
            accept(self, f"{topic}.headers", dict(zip(headers[::2], headers[1::2])))
            if topic == "notifications.dispatch":
                value = json.loads(line["payload"])
                accept(self, f"{topic}.key", line["key"])
                accept(self, f"{topic}.value", value)
                accept(self, "notification.payload", default_of(value))
        self.assertEqual(topics, {"notifications.dispatch", "notifications.dead-letters"})


class AsyncAPI(unittest.TestCase):
    def setUp(self):
        self.document = yaml.safe_load((HERE / "asyncapi.yaml").read_text())

    def references(self, value):
        if isinstance(value, dict):
            if "$ref" in value:
                yield value["$ref"]
            value = list(value.values())
        if isinstance(value, list):
            for each in value:
                yield from self.references(each)

    def test_every_reference_leads_somewhere(self):
        for reference in self.references(self.document):
            with self.subTest(reference):
                if not reference.startswith("#/"):
                    self.assertTrue((HERE / reference).is_file())
                    continue
                target = self.document
                for part in reference[2:].split("/"):
                    target = target[part]

    def test_it_names_every_schema_and_every_channel_has_an_operation(self):
        self.assertEqual(self.document["asyncapi"], "3.0.0")
        named = {reference[2:].removesuffix(".schema.json") for reference in self.references(self.document)
                 if reference.startswith("./")}
        self.assertEqual(named, SCHEMAS.keys() - {"notification.payload"})
        used = {operation["channel"]["$ref"].rpartition("/")[2] for operation in self.document["operations"].values()}
        self.assertEqual(used, self.document["channels"].keys())


if __name__ == "__main__":
    unittest.main()
