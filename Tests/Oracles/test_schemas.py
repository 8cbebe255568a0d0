"""The schemas accept every example, and refuse what is wrong."""

import copy
import fnmatch
import json
import unittest

import jsonschema
from schemas import FOLDER, REGISTRY, SCHEMAS, VALIDATORS, complaint, is_of_broadcast, is_of_order, json_object

from generator.requests import Requests
from harness.rendering import record_of
from harness.seed import seed_of_run
from model import messages
from model.messages import payload_of
from model.records import Device, Notification, Record, Settings
from model.request_messages import value_of
from model.requests import outcome_of

EXAMPLES = FOLDER.parent / "Examples"
SEED = seed_of_run()

# Ways to spoil the first example of a schema; each must be refused. Values replace members by their path.
WRONG = {
    "orders.events.key": [4711, {}],
    "orders.events.value": [{"event_type": "ORDER_TELEPORTED"}, {"order": "none"}],
    "orders.events.headers": [{"ce_specversion": "1.0"}, {"traceparent": "none"}],
    "notifications.requests.key": [4711, {}],
    "notifications.requests.value": [
        {"audience": "team/7"},
        {"audience": []},
        {"priority": "urgent"},
        {"colapse_key": "a"},
        {"expires_at": True},
        {"app": None},
        {"message": {"title": "a"}},
        {"app": {"title": " ", "body": "b", "data": {"type": "Generic"}}},
        {"app": {"title": "a", "body": "b", "data": {}}},
        {"app": {"title": "a", "body": "b", "data": {"type": "Generic", "gcm.n": "1"}}},
        {"app": {"title": "a", "body": "b", "data": {"type": "FinoDisconnected", "action": "added"}}},
        {"app": None, "message": {"badge": 3}},
        {"app": None, "message": {"title": "a", "colapseKey": "a"}},
        {"app": None, "message": {"title": "a", "extras": {"type": "a"}}},
        {"app": None, "message": {"title": "a", "titleLocArgs": ["a"]}},
        {"app": None, "message": {"title": "a", "collapseKey": "a"}, "collapse_key": "a"},
        {"app": None, "message": {"title": "a", "validUntil": 1}, "expires_at": 1},
    ],
    "notifications.requests.headers": [{"ce_specversion": "1.0"}, {"traceparent": "none"}, {"after": "x"}],
    "notifications.control.key": ["cancel/", "pause/sms", "pause/fcm/", "stop/fcm", 4711],
    "notifications.control.value": [{"version": 2}, {"why": None}, {"at": "now"}],
    "notifications.commands.value": [
        {"version": 2},
        {"by": "somebody"},
        {"by": "user:17"},
        {"action": "change_order"},
        {"device": "too-short"},
        {"whole": None},
        {"address": {"kind": "sms", "value": "a"}},
        {"person": ""},
        {"audiences": ["user/18"]},
        {"audiences": None},
        {"new_credential": "secret"},
    ],
    "notifications.receipts.value": [{"version": 2}, {"message_id": ""}, {"device": "a"}, {"kind": "read"}, {"at": "now"}],
    "notifications.verdicts.value": [{"command": -1}, {"verdict": "done"}, {"reason": "invalid"}, {"verdict": "refused"}],
    "notifications.devices.key": ["too-short", 4711],
    "notifications.devices.value": [
        {"version": 1},
        {"address": {"state": "live"}},
        {"left": [{"sha256": "a", "at": 1}]},
        {"address": {"state": "dead", "sha256": "a"}},
        {"environment": "test"},
        {"audiences": ["user/17"]},
        {"credential": "secret"},
        {"seen_at": "today"},
    ],
    "notifications.people.key": ["", 4711],
    "notifications.people.value": [{"person": ""}, {"audiences": ["device/1"]}, {"revision": -1}],
    "notifications.erasures.key": ["17"],
    "notifications.erasures.value": [{"version": 1}, {"at": "today"}, {"addresses": {"a": 1}}, {"addresses": ["a"]}],
    "notifications.subscriptions.headers": [
        {"since": ""},
        {"since": "-1"},
        {"since": "2025-07-07T08:02:17Z"},
        {"since": "1234567890123456789"},
        {"mended": "now"},
        {"dead": "1751875337000"},
        {"command": "-1"},
    ],
    "notifications.broadcasts.key": [1235, " ", {}],
    "notifications.broadcasts.headers": [{"ce_specversion": "1.0"}, {"ce_id": ""}],
    "notifications.broadcasts.journal.key": ["shop"],
    "notifications.broadcasts.journal.value": [
        {"v": 4},
        {"group": ""},
        {"cluster": 7},
        {"ranges": [{"topic": "a", "partition": 0, "from": -1, "to": 2}]},
        {"ranges": [{"topic": "a", "partition": 0, "from": 1, "to": 2, "ahead": None}]},
        {"broadcasts": -1},
        {"clock": 1.5},
        {
            "passes": [
                {"partition": 7, "broadcast": 12, "id": "1", "message_id": "a", "s": 1, "sent": 1, "stale": 0, "end": "later"}
            ]
        },
        {
            "passes": [
                {"partition": 7, "broadcast": 12, "id": "1", "message_id": "a", "s": 1, "sent": 1, "stale": 0, "k_after": "ff"}
            ]
        },
        {"late": [{"partition": 7, "broadcast": 12, "id": "1", "message_id": "a"}]},
        {"skipped": [{"partition": 7, "broadcast": 12, "reason": "no_subscriber"}]},
        {"rules": ""},
    ],
    "notifications.broadcasts.value": [
        {"actiontype": "show"},
        {"actiontype": "non-display"},
        {"data": "text"},
        {"notificationid": " "},
        {"expiry": 34646},
        {"expiry": "34646"},
        {"expiry": "-1millis"},
        {"expiry": "tomorrow"},
        {"type": "yes"},
        {"audience": "channel/a"},
        {"channel": None, "audience": "place/7"},
        {"channel": None, "audience": ["channel/a"]},
        {"poster": "http://example.com/p.png"},
        {"fields": []},
        {"fields": [{"language": "en", "title": "t"}]},
        {"fields": [{"language": "en US", "title": "t", "msg": "m"}]},
        {"fields": [{"language": "en", "title": " ", "msg": "m"}]},
    ],
    "notifications.subscriptions.key": ["place/1", "place/1|ABC", "device/1|" + "0" * 64],
    "notifications.subscriptions.value": [
        {"audience": "device/1"},
        {"platform": "sms"},
        {"token": "two words"},
        {"platform": "apns"},
        {"address_kind": "apns_token"},
        {"last_seen_at": "today"},
    ],
    "notification.payload": [
        {"start_time": "25:99"},
        {"delivery_date": "2025-13-45"},
        {"place_id": 42},
        {"extra": "x"},
        {"event_type": "event_order_status_changed"},
        {"new_status": "picked"},
        {"event_type": "order_delayed"},
        {"event_type": "event_Late"},
    ],
    "notifications.dispatch.key": ["no-hash"],
    "notifications.dispatch.value": [
        {"notification": {}},
        {"message/token": ""},
        {"message/fid": "both"},
        {"message/data/order_id": "1"},
        {"message/data/default": 1},
        {"message/apns/headers/apns-priority": "10"},
        {"message/extra": 1},
        {"message/android/extra": 1},
        {"message/apns/extra": 1},
        {"message/apns/headers/extra": "1"},
    ],
    "notifications.dispatch.headers": [{"platform": "sms"}, {"source": "orders.events"}, {"token": "secret"}],
    "notifications.dispatch.retry.headers": [
        {"platform": "sms"},
        {"token": "secret"},
        {"delivery": "v1 a=1 u=0"},
        {"delivery": "v1 o=-1 a=1 u=0"},
        {"delivery": "o=1 a=1 u=0"},
        {"delivery": "v1 o=1 a=1 u=0 t=x"},
        {"delivery": "v1 o=1 a=1 u=0 s=99"},
        {"delivery": "v1 o=1 a=1 u=0 r=two words"},
    ],
    "notifications.deliveries.value": [
        {"outcome": "lost"},
        {"device": "made-up-token"},
        {"partition": -1},
        {"platform": "sms"},
        {"environment": "test"},
        {"status": 99},
        {"message_id": ""},
        {"attempts": -1},
    ],
    "notifications.dead-letters.headers": [{"x-error-code": "bad_luck"}, {"__connect.errors.offset": "x"}],
    "notifications.journal.key": ["shop"],
    "notifications.journal.value": [
        {"ranges": [{"topic": "a", "partition": 0, "from": -1, "to": 2}]},
        {"table": [-1]},
        {"rules": ""},
        {"clock": 1.5},
        {"v": 3},
        {"v": 1},
        {"group": ""},
        {"dispatch": None},
        {"cluster": 7},
        {"watermarks": [{"partition": 3, "before": 1, "after": 1}]},
        {"watermarks": [{"topic": "a", "partition": 3, "before": 1, "before_p": "5", "after": 1}]},
    ],
}

# The lists of members below have this name for pushes of broadcasts.
OF_BROADCAST = "notifications.dispatch.value of a broadcast"
# What the requests of the examples have as data or extras.
CUSTOM = ("type", "bill_ids", "total", "paid", "sync", "since")
# Members of the examples that may be left out, by their paths. Everything else that an example has is required.
MAY_BE_LEFT_OUT = {
    "orders.events.value": [
        "event_id",
        "occurred_at",
        "place_id",
        "previous_status",
        "new_status",
        "order/*",
        "time",
        "datacontenttype",
        "data/*",
    ],
    "notification.payload": ["delay_minutes", "reason"],
    "orders.events.headers": ["ce_specversion", "ce_time", "content-type", "id", "eventType"],
    "notifications.requests.headers": ["ce_specversion", "ce_time", "content-type", "id", "after"],
    "notifications.requests.value": [
        "request_id",
        "requested_at",
        "expires_at",
        "collapse_key",
        "priority",
        "time",
        "datacontenttype",
        "app/imageUrl",
        "app/data/[!t]*",
        *(f"message/{name}" for name in ("title", "body", "badge", "sound", "icon", "category", "collapseKey", "validUntil")),
        *(f"message/{name}" for name in ("titleLocArgs", "bodyLocArgs", "extras*", "silent")),
    ],
    "notifications.broadcasts.headers": ["ce_specversion", "ce_time", "content-type", "id"],
    "notifications.broadcasts.journal.value": [
        "ranges/*/ahead",
        *(f"passes/*/{name}" for name in ("id", "message_id", "k_before", "k_after", "devices", "end")),
        "skipped/*/id",
    ],
    "notifications.broadcasts.value": ["type", "channel", "poster", "data", "audience", "published_at"],
    "notifications.subscriptions.headers": ["since", "mended", "dead", "command"],
    "notifications.commands.value change_device": ["address", "app", "locale", "person", "audiences"],
    "notifications.commands.value bury_address": ["app", "environment"],
    "notifications.commands.value change_person": ["audiences"],
    "notifications.commands.value delete_device": ["if_exists"],
    "notifications.verdicts.value": ["generation", "devices"],
    # Without it everything is meant.
    "notifications.control.value": ["audiences_sha256"],
    "notifications.devices.value": ["locale", "person"],
    "notifications.erasures.value": ["addresses/*"],
    "notifications.subscriptions.value": ["locale", "registered_at", "last_seen_at"],
    "notifications.dispatch.value": [
        "message/notification/*",
        "message/android/collapse_key",
        "message/android/notification/icon",
        "message/android/notification/sound",
        "message/android/notification/*_loc_args",
        "message/apns/payload/aps/[!atcm]*",
        "message/apns/payload/aps/category",
        "*/aps/alert/title",
        "*/aps/alert/body",
        "*/aps/alert/*-args",
        "payload/aps/[!ac]*",
        "payload/aps/category",
        "payload/imageUrl",
        *(f"{place}/{name}" for place in ("message/data", "payload") for name in CUSTOM),
    ],
    OF_BROADCAST: ["*/channel", "*/poster", "message/data/data", "payload/data"],
    "notifications.dispatch.headers": ["request-id", "x-degraded"],
    "notifications.dispatch.retry.headers": ["request-id", "x-degraded"],
    "notifications.deliveries.value": [
        "app",
        "environment",
        "status",
        "reason",
        "provider_id",
        "evidence",
        "credential",
        "first_sent_at",
        "last_sent_at",
    ],
    "notifications.journal.value": [
        "ranges/*/first",
        "ranges/*/incomplete",
        "watermarks/*/before_p",
        "watermarks/*/after_p",
        "watermarks/*/until",
    ],
}
# Members whose type is free: the rules take what they can use, and the next source else.
MAY_BE_ANYTHING = {
    "notifications.requests.value": [
        "datacontenttype",
        "message/extras/*",
        *(f"app/data/{name}" for name in ("bill_id", "error", "errorUri", "message", "requestId", "bankId")),
    ],
    "notifications.dispatch.value": ["payload/imageUrl", *(f"payload/{name}*" for name in CUSTOM)],
    "orders.events.value": [
        "order/shipping_info/slot/*",
        "order/metadata/delivery_slot_*",
        "order/order_date",
        "order/currency",
        "order/total",
        "order/items*",
        "datacontenttype",
        "data/*",
    ],
}
# What the rules refuse and a schema cannot.
SCHEMA_ACCEPTS = ("a time that is none", "an expiry that is none", "an empty key", "another image", "a silent deep link")
# Identities and times: a text or a number.
MAY_BE_TEXT_OR_NUMBER = {
    "notifications.requests.value": ["request_id", "requested_at", "expires_at", "message/validUntil", "*app/data/type"],
    "notifications.broadcasts.value": ["notificationid", "published_at"],
    "orders.events.value": [
        "event_id",
        "occurred_at",
        "place_id",
        "order/id",
        "order/order_number",
        "order/place_id",
        "order_ids/*",
    ],
}


def members(value, path=""):
    """Every member and element of a value: (path, its holder, its name or index)."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, member in list(items):
        here = f"{path}{name}"
        yield here, value, name
        yield from members(member, here + "/")


def of_other_types(value):
    """Values that are not of the type of `value`, nor of null's."""
    for other in ("text that nobody expects", 17.5, True, ["element"], {"member": 1}):
        if type(other) is not type(value) and not (isinstance(value, int) and isinstance(other, float)):
            yield other


def listed(lists, name, example, path):
    if name == "notifications.dispatch.value" and is_of_broadcast(example):
        name = OF_BROADCAST
    if name == "notifications.commands.value":
        name += " " + example["action"]
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in lists.get(name, ()))


def spoiled(example, change):
    if not isinstance(change, dict) or not isinstance(example, dict):
        return change
    value = copy.deepcopy(example)
    for path, wrong in change.items():
        *parents, last = path.split("/") if path.startswith("message/") else [path]
        target = value
        for parent in parents:
            target = target[parent]
        target[last] = wrong
    return value


class Schemas(unittest.TestCase):
    def accept(self, name, value):
        self.assertIsNone(complaint(name, value))

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
                    self.accept(name, example)

    def test_a_tool_that_reads_draft_07_accepts_them_too(self):
        for name, schema in SCHEMAS.items():
            validator = jsonschema.Draft7Validator(schema, registry=REGISTRY)
            for example in schema["examples"]:
                with self.subTest(name):
                    self.assertTrue(validator.is_valid(example))

    def test_a_wrong_one_is_refused(self):
        self.assertEqual(WRONG.keys(), SCHEMAS.keys())
        for name, changes in WRONG.items():
            for change in changes:
                with self.subTest(name, change=change):
                    value = spoiled(SCHEMAS[name]["examples"][0], change)
                    self.assertFalse(VALIDATORS[name].is_valid(value), value)

    def test_no_member_can_be_left_out_but_those_that_are_listed(self):
        for name, schema in SCHEMAS.items():
            for example in schema["examples"]:
                # What is listed of pushes is of requests.
                is_free = name != "notifications.dispatch.value" or not is_of_order(example)
                for path, holder, member in members(example):
                    if isinstance(holder, list) or holder is example and isinstance(example, dict) and not holder:
                        continue
                    if member == "actiontype" and name == "notifications.dispatch.value":
                        continue  # Without it a push is of no broadcast.
                    with self.subTest(name, path=path):
                        kept = holder.pop(member)
                        refused = not VALIDATORS[name].is_valid(example)
                        holder[member] = kept
                        self.assertEqual(refused, not (is_free and listed(MAY_BE_LEFT_OUT, name, example, path)))

    def test_no_member_can_have_another_type_but_those_that_are_listed(self):
        for name, schema in SCHEMAS.items():
            for example in schema["examples"]:
                for path, holder, member in members(example):
                    kept = holder[member]
                    for other in of_other_types(kept):
                        with self.subTest(name, path=path, other=other):
                            holder[member] = other
                            refused = not VALIDATORS[name].is_valid(example)
                            holder[member] = kept
                            free = listed(MAY_BE_ANYTHING, name, example, path) or (
                                isinstance(other, (str, float)) and listed(MAY_BE_TEXT_OR_NUMBER, name, example, path)
                            )
                            self.assertEqual(refused, not free)

    def test_what_the_app_reads_is_a_payload(self):
        for example in SCHEMAS["notifications.dispatch.value"]["examples"]:
            if is_of_order(example):
                self.accept("notification.payload", payload_of(example))

    def test_the_sample_requests_are_accepted_but_those_that_are_dead_letters(self):
        samples = (EXAMPLES / "requests.jsonl").read_text()
        for line in samples.splitlines():
            record = record_of(line, 0)
            found = outcome_of(record, Settings("UTC"), clock=0)
            value, headers = json.loads(record.value), {name: text.decode() for name, text in record.headers}
            with self.subTest(record=record):
                self.accept("notifications.requests.key", record.key.decode())
                self.accept("notifications.requests.headers", headers)
                self.assertEqual(complaint("notifications.requests.value", value) is None, found.request is not None)

    def test_what_the_rules_accept_and_refuse_of_generated_requests_so_does_the_schema(self):
        source = Requests(SEED, ["user/17"], bad_rate=0.3)
        for made in (source.next() for _ in range(2_000)):
            value = json_object(made.input.value)
            # What is in another envelope is no value of the schema.
            if value is None or "data_base64" in value or "schema" in value or made.kind in SCHEMA_ACCEPTS:
                continue
            with self.subTest(seed=SEED, made=made):
                self.assertEqual(complaint("notifications.requests.value", value) is None, made.code is None)

    def test_every_message_of_a_generated_request_is_accepted(self):
        source, settings = Requests(SEED, ["user/17"], bad_rate=0), Settings("UTC")
        for at, made in enumerate(source.next() for _ in range(1_000)):
            found = outcome_of(Record("notifications.requests", 0, at, source.now, *made.input), settings, clock=0)
            for platform in ("fcm", "apns"):
                device = Device("0a1b", "0" * 64, platform, "com.example.shop", "production", None)
                with self.subTest(seed=SEED, made=made):
                    self.accept("notifications.dispatch.value", json.loads(value_of(found.request, device, settings)))

    def test_an_order_push_that_is_shown_is_accepted_and_one_that_is_half_shown_is_not(self):
        text = {"title": "Order {visible_id}", "body": "From {start_time}"}
        settings = Settings("UTC", display={"default": "en", "languages": {"en": {"order_created": text}}})
        payload = payload_of(SCHEMAS["notifications.dispatch.value"]["examples"][0])
        notification = Notification(payload["message_id"], payload["order_id"], payload["place_id"], 0, payload, "food", False, [])
        for platform in ("fcm", "apns"):
            device = Device("0a1b", "0" * 64, platform, "com.example.shop", "production", None)
            value = messages.value_of(notification, device, settings)
            self.accept("notifications.dispatch.value", value)
            for path, holder, member in members(value):
                # The deep link goes with both of its members.
                if not path.startswith(("message/data/order_", "payload/order_")):
                    with self.subTest(platform, path=path):
                        kept = holder.pop(member)
                        self.assertIsNotNone(complaint("notifications.dispatch.value", value))
                        holder[member] = kept

    def test_the_samples_are_accepted(self):
        for line in (EXAMPLES / "subscriptions.jsonl").read_text().splitlines():
            self.accept("notifications.subscriptions.value", json.loads(line))
        for event in map(json.loads, (EXAMPLES / "events.jsonl").read_text().splitlines()):
            if "payload" not in event:
                self.accept("orders.events.value", event)
                continue
            headers = event.get("headers", [])
            self.accept("orders.events.headers", dict(zip(headers[::2], headers[1::2])))


if __name__ == "__main__":
    unittest.main()
