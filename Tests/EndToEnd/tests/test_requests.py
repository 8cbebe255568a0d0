"""What every request has in common: docs/rules.md, sections 6 and 8."""

import base64
import hashlib
import json
import re
import unittest

from generator.inputs import subscription_key
from generator.requests import KINDS, Requests
from harness.seed import seed_of_run
from model.json_text import number_text, parse, written
from model.messages import message_id
from model.records import DeadLetter, Record, Settings
from model.request_messages import headers_of, pushes_of, size_of, value_of
from model.requests import MAX_AUDIENCES, outcome_of, recipients
from model.subscriptions import Subscriptions
from tests.sample_requests import APNS, FCM, MESSAGE, NOW, app, message, outcome, record, refused, request_of, sent, settings

HASH = "10ffad26a13f2c017284847f96b8beaa81d7e996b033172f78d3cdd4333ae6e3"
BASE = {"audience": "user/17", "message": MESSAGE}


def id_of(value, headers=(), timestamp=NOW):
    return outcome(value, headers, clock=0, timestamp=timestamp).request.message_id


class Identity(unittest.TestCase):
    def test_ids_are_those_of_section_6(self):
        app_request = BASE | app()
        del app_request["message"]
        cloud = {"ce_source": "/billing", "ce_id": "4d47e190-0402-4048-bc2c-89dd54343cdc", "ce_time": "2025-07-07T08:02:17Z"}
        bills = {"request_id": "bills-2025-17", "requested_at": NOW}
        for value, headers, expected in (
            (app_request | bills, {}, "msg-1751875337000-wd53ja28t"),
            (BASE | bills, {}, "msg-1751875337000-z0fokogv3"),
            (app_request | {"request_id": " bills-2025-17 "}, {}, "msg-0-wd53ja28t"),
            (app_request, cloud, "msg-1751875337000-1dre5xr20"),
            (BASE, {"id": "ec9fc183-12b1-563a-ba0b-8db5a05cf0d0"}, "msg-0-69akqi48g"),
            (BASE, {}, "msg-1751875337250-mlvmwrc4x"),
        ):
            with self.subTest(value, headers=headers):
                self.assertEqual(id_of(value, headers, NOW + 250), expected)

    def test_the_tag_is_the_same_for_every_source(self):
        self.assertEqual(id_of(BASE | {"request_id": 4711}), message_id("request", ["4711"], "message", "", 0))

    def test_the_time_is_requested_at_then_ce_time_then_none_then_that_of_the_record(self):
        cloud = {"ce_source": "s", "ce_id": "i"}
        for value, headers, expected in (
            (BASE | {"requested_at": "2025-07-07T08:02:18Z"}, cloud | {"ce_time": "2025-07-07T08:02:19Z"}, NOW + 1000),
            (BASE, cloud | {"ce_time": "2025-07-07T08:02:19Z"}, NOW + 2000),
            (BASE, cloud | {"ce_time": "tomorrow"}, 0),
            (BASE, {"id": "i"}, 0),
            (BASE, {}, NOW + 7),
        ):
            with self.subTest(value, headers=headers):
                self.assertEqual(id_of(value, headers, NOW + 7).split("-")[1], str(expected))

    def test_a_dead_letter_that_is_put_back_keeps_its_id(self):
        place = {f"__connect.errors.{name}": value for name, value in (("topic", "a"), ("partition", "1"), ("offset", "2"))}
        for mark in ({"x-error-code": "bad_request"}, {"replay-of": "dead/0/7"}):
            self.assertEqual(id_of(BASE, mark | place), message_id("request", ["a", "1", "2"], "message", "", NOW))
            self.assertEqual(id_of(BASE, place | mark), id_of(BASE, {}))
        self.assertEqual(id_of(BASE, place), id_of(BASE, {}))


class Envelopes(unittest.TestCase):
    def test_every_envelope_gives_the_same_request(self):
        body = json.dumps(BASE)
        structured = {"specversion": "1.0", "id": "i", "source": "s", "time": "2025-07-07T08:02:17Z"}
        for value, headers in (
            (body, {}),
            (json.dumps(body), {}),
            (json.dumps({"schema": {}, "payload": body}), {}),
            (json.dumps({"schema": {}, "payload": BASE}), {}),
            (json.dumps(structured | {"data": BASE}), {"Content-Type": "Application/CloudEvents+json"}),
            (json.dumps(structured | {"data": BASE}), {}),
            (json.dumps(structured | {"data_base64": base64.b64encode(body.encode()).decode()}), {}),
        ):
            for framed in (value.encode(), b"\0\0\0\0\7" + value.encode()):
                with self.subTest(framed, headers=headers):
                    self.assertEqual(outcome(framed, headers).request.content.title, "Bills")

    def test_a_request_with_members_of_an_envelope_is_none(self):
        self.assertEqual(refused(BASE | {"specversion": "1.0", "data": {}})[1], {"specversion", "data"})

    def test_what_is_no_request_is_refused(self):
        eight = json.dumps(BASE)
        for _ in range(8):
            eight = json.dumps(eight)
        self.assertIsNone(outcome(eight.encode()).dead_letter)
        nested = json.dumps(eight)
        for value, code in (
            (None, "null_value"),
            (b" " * (1 << 20) + b"{}", "value_too_large"),
            (b'{"a":' + b"[" * 70 + b"]" * 70 + b"}", "too_deep"),
            (b'"\xff"', "invalid_utf8"),
            (b"{", "invalid_json"),
            (rb'{"audience":"\ud800"}', "invalid_json"),
            (b'{"audience":01}', "invalid_number"),
            (b"[]", "not_an_event"),
            (b'{"specversion":"1.0","data_base64":"*"}', "not_an_event"),
            (nested.encode(), "not_an_event"),
        ):
            with self.subTest(value[:40] if value else value):
                self.assertIn(code, outcome(value).dead_letter)


class Members(unittest.TestCase):
    def test_a_problem_of_a_member_names_it(self):
        long = "user/" + "x" * 1_020
        for change, named in (
            ({"audience": None}, "audience"),
            ({"audience": " "}, "audience"),
            ({"audience": []}, "audience"),
            ({"audience": 17}, "audience"),
            ({"audience": "user/"}, "audience"),
            ({"audience": "team/7"}, "audience"),
            ({"audience": "user/a\nb"}, "audience"),
            ({"audience": "device/17"}, "audience"),
            ({"audience": "device/" + HASH.upper()}, "audience"),
            ({"audience": long}, "audience"),
            ({"audience": ["user/17", "17"]}, "audience[1]"),
            ({"audience": ["user/17", None]}, "audience[1]"),
            ({"audience": ["user/17"] * (MAX_AUDIENCES + 1)}, "audience"),
            ({"request_id": True}, "request_id"),
            ({"request_id": {}}, "request_id"),
            ({"requested_at": "tomorrow"}, "requested_at"),
            ({"requested_at": "2025-02-30T10:00:00Z"}, "requested_at"),
            ({"requested_at": "1969-07-20T20:17:40Z"}, "requested_at"),
            ({"requested_at": True}, "requested_at"),
            ({"expires_at": "24h"}, "expires_at"),
            ({"collapse_key": 17}, "collapse_key"),
            ({"priority": "HIGH"}, "priority"),
            ({"priority": 10}, "priority"),
            ({"message": None}, "app"),
            ({"message": "Hello"}, "message"),
            (app(), "app"),
            ({"colapse_key": "bills"}, "colapse_key"),
            ({"Priority": None}, "Priority"),
            ({"event_type": "ORDER_CREATED"}, "event_type"),
        ):
            with self.subTest(change):
                self.assertEqual(refused(BASE | change), ({"bad_request"}, {named}))

    def test_what_is_allowed_is_accepted(self):
        for change in (
            {"audience": "user/" + "x" * 1_019},
            {"audience": ["place/1", "user/ä b", "channel/news", "device/" + HASH]},
            {"audience": ["user/17"] * MAX_AUDIENCES},
            {"request_id": 17.0, "requested_at": "1751875337"},
            {"request_id": None, "requested_at": None, "expires_at": "", "collapse_key": None, "priority": " ", "app": None},
            {"priority": "high"},
        ):
            with self.subTest(change):
                self.assertIsNotNone(request_of(BASE | change).request)

    def test_a_member_that_occurs_twice_counts_with_its_last_value_in_its_first_place(self):
        extras = b'{"a":1,"b":2,"a":{"x":1,"x":2}}'
        value = b'{"audience":"place/1","message":{"title":1,"extras":' + extras + b',"title":"B"},"audience":"user/17"}'
        request = outcome(value).request
        self.assertEqual((request.audiences, request.content.title), (("user/17",), "B"))
        self.assertIn('"a":{"x":1,"x":2},"b":2,', value_of(request, APNS, settings()))
        self.assertIn(r'"a":"{\"x\":1,\"x\":2}","b":"2",', value_of(request, FCM, settings()))

    def test_texts_are_not_trimmed(self):
        self.assertEqual(sent(message(title=" 42\u3000"))[0]["message"]["notification"]["title"], " 42\u3000")


class Audiences(unittest.TestCase):
    def setUp(self):
        devices = {"user/17": ("a", "b"), "channel/news": ("b", "c"), "place/old": ("d",)}
        self.table = Subscriptions(
            Record("notifications.subscriptions", 0, at, NOW, *self.subscription(audience, token))
            for at, (audience, token) in enumerate((each, token) for each, tokens in devices.items() for token in tokens)
        )

    @staticmethod
    def subscription(audience, token):
        seen = "2020-01-01T00:00:00Z" if token == "d" else None
        value = {"audience": audience, "token": token, "platform": "fcm", "app": "x", "environment": "production"}
        return subscription_key(audience, token), json.dumps(value | {"last_seen_at": seen}).encode()

    def pushes(self, value, clock=NOW):
        return pushes_of(record({"request_id": "r", "requested_at": NOW} | value), self.table, Settings(), clock)

    def test_a_record_becomes_pushes_or_a_reason(self):
        pushes, outcome = self.pushes(BASE | {"audience": ["channel/news", "user/17"]})
        self.assertEqual([(each.device.token, each.audience) for each in pushes][0], ("b", "channel/news"))
        self.assertEqual({each.headers["message-id"] for each in pushes}, {outcome.request.message_id})
        self.assertEqual(json.loads(pushes[0].value)["message"]["token"], "b")
        self.assertEqual(self.pushes(BASE, clock=NOW * 2)[1].suppressed, "expired")
        self.assertEqual(self.pushes(BASE | {"audience": "user/18"})[1].suppressed, "no_subscriber")
        self.assertEqual(self.pushes(BASE | {"audience": "team/1"})[1].dead_letter, {"bad_request"})

    def test_what_is_too_large_for_one_of_its_devices_is_a_dead_letter(self):
        fixed = size_of(request_of(app({"k": ""})).request, "fcm")
        for size, codes in ((4_096, None), (4_097, {"payload_too_large"})):
            value = app({"k": "x" * (size - fixed)}) | {"audience": "user/17"}
            self.assertEqual(self.pushes(value)[1].dead_letter, codes)
        # An APNs payload of this size would be too large, but nobody gets one.
        self.assertGreater(size_of(request_of(app({"k": "x" * (4_096 - fixed)})).request, "apns"), 4_096)
        self.assertEqual(self.pushes(app({"k": "x" * 5_000}) | {"audience": "user/18"})[1].suppressed, "no_subscriber")

    def reached(self, *audiences):
        request = request_of(BASE | {"audience": list(audiences)}).request
        devices, reason = recipients(request, self.table, Settings())
        return [(device.token, audience) for device, audience in devices], reason

    def test_several_audiences_are_a_union_and_the_first_one_counts(self):
        expected = [("a", "user/17"), ("b", "user/17"), ("c", "channel/news")]
        self.assertEqual(self.reached("user/17", "channel/news", "user/17"), (expected, None))
        self.assertIn(("b", "channel/news"), self.reached("channel/news", "user/17")[0])

    def test_nobody_is_reached_where_nobody_is_subscribed_or_was_seen(self):
        self.assertEqual(self.reached("user/18"), ([], "no_subscriber"))
        self.assertEqual(self.reached("user/18", "place/old"), ([], "stale_token"))
        self.assertEqual(self.reached("place/old", "user/17")[1], None)


class Expiry(unittest.TestCase):
    def test_the_expiry_decides_the_header_the_lifetime_and_the_expiration(self):
        for change, expiry, ttl in (
            ({}, NOW + 86_400_000, "86400s"),
            ({"expires_at": "2025-07-07T08:02:18.999Z"}, NOW + 1_999, "1s"),
            ({"expires_at": NOW + 5_000_000_000}, NOW + 5_000_000_000, "2419200s"),
            (message(validUntil="2025-07-07T09:02:17"), NOW + 3_600_000, "3600s"),
        ):
            with self.subTest(change):
                request = request_of(BASE | change).request
                self.assertEqual(headers_of(request, FCM, "user/17")["expires-at"], str(expiry))
                fcm, apns = sent(BASE | change)
                self.assertEqual(fcm["message"]["android"]["ttl"], ttl)
                for headers in (fcm["message"]["apns"]["headers"], apns["headers"]):
                    self.assertEqual(headers["apns-expiration"], str(expiry // 1000))

    def test_without_a_time_of_its_own_the_records_time_counts(self):
        request = outcome(BASE | {"request_id": "r"}, timestamp=NOW + 5).request
        self.assertEqual((request.event_time, request.expiry), (NOW + 5, NOW + 5 + 86_400_000))
        self.assertEqual(outcome(BASE, timestamp=-1, clock=-1).request.event_time, 0)

    def test_what_has_expired_by_the_transactions_clock_is_suppressed(self):
        value = BASE | {"expires_at": NOW + 10}
        self.assertIsNotNone(request_of(value, clock=NOW + 9).request)
        self.assertEqual(request_of(value, clock=NOW + 10).suppressed, "expired")
        self.assertEqual(request_of(BASE, clock=NOW + 86_400_000).suppressed, "expired")
        self.assertEqual(request_of(BASE | {"priority": 1}, clock=NOW * 2).dead_letter, {"bad_request"})

    def test_an_expiry_before_the_event_is_now_or_never(self):
        value = BASE | {"requested_at": NOW + 60_000, "expires_at": NOW + 10}
        self.assertEqual(sent(value)[0]["message"]["android"]["ttl"], "0s")

    def test_an_expiry_stands_in_one_place(self):
        value = BASE | message(validUntil=NOW + 1) | {"expires_at": NOW + 1}
        self.assertEqual(refused(value), ({"conflicting_value"}, {"expires_at"}))

    def test_compatible_with_document_5_fcm_ignores_valid_until(self):
        value = message(validUntil=NOW + 5_000)
        fcm, apns = sent(value, ignore_valid_until=True)
        self.assertEqual(fcm["message"]["android"]["ttl"], "86400s")
        self.assertEqual(fcm["message"]["apns"]["headers"]["apns-expiration"], "1751961737")
        self.assertEqual(apns["headers"]["apns-expiration"], "1751875342")
        self.assertEqual(request_of(value, ignore_valid_until=True, clock=NOW + 5_000).suppressed, "expired")
        self.assertEqual(sent({"expires_at": NOW + 5_000} | message(), ignore_valid_until=True)[0], sent(value)[0])


class Priority(unittest.TestCase):
    def test_every_row_of_section_8_4(self):
        for silent, priority, android, apns in (
            (False, None, "high", "10"),
            (False, "high", "high", "10"),
            (False, "normal", "normal", "5"),
            (True, "high", "high", "5"),
            (True, "normal", "normal", "5"),
            (True, None, "normal", "5"),
        ):
            with self.subTest(silent=silent, priority=priority):
                to_fcm, to_apns = sent(message(silent=silent) | {"priority": priority})
                self.assertEqual(to_fcm["message"]["android"]["priority"], android)
                for headers in (to_fcm["message"]["apns"]["headers"], to_apns["headers"]):
                    self.assertEqual(headers["apns-priority"], apns)
                    self.assertEqual(headers["apns-push-type"], "background" if silent else "alert")


class CollapseKey(unittest.TestCase):
    def places(self, value):
        fcm, apns = sent(value)
        android, ios = fcm["message"]["android"], fcm["message"]["apns"]
        direct = (apns["headers"]["apns-collapse-id"], apns["payload"]["aps"].get("thread-id"))
        through_fcm = (ios["headers"]["apns-collapse-id"], ios.get("payload", {}).get("aps", {}).get("thread-id"))
        self.assertEqual(direct, through_fcm)
        return android.get("collapse_key"), android.get("notification", {}).get("tag"), *direct

    def test_every_row_of_section_8_5(self):
        identity = request_of(message()).request.message_id
        for value, expected in (
            ({"collapse_key": "bills"} | message(), ("bills", "bills", "bills", "bills")),
            (message(collapseKey="bills"), ("bills", "bills", "bills", "bills")),
            (message(collapseKey="bills", category="C"), ("bills", "C", "bills", "bills")),
            (message(), (None, identity, identity, None)),
            (message(category="C"), (None, "C", identity, None)),
            (message(silent=True, category="C"), (None, None, identity, None)),
            (message(silent=True, collapseKey="bills"), ("bills", None, "bills", None)),
        ):
            with self.subTest(value):
                self.assertEqual(self.places(value), expected)

    def test_a_key_that_no_header_can_hold_is_hashed_everywhere(self):
        self.assertEqual(self.places({"collapse_key": "x" * 64} | app())[0], "x" * 64)
        for key in ("x" * 65, "two words", "schlüssel", "a\u0001"):
            with self.subTest(key):
                self.assertEqual(set(self.places(message(collapseKey=key))), {hashlib.sha256(key.encode()).hexdigest()})

    def test_a_key_stands_in_one_place(self):
        value = {"collapse_key": "a"} | message(collapseKey="a")
        self.assertEqual(refused(value), ({"conflicting_value"}, {"collapse_key"}))
        self.assertIsNotNone(request_of({"collapse_key": "a"} | message(collapseKey="")).request)


class Size(unittest.TestCase):
    def test_fcm_counts_data_and_what_is_shown(self):
        request = request_of(app({"k": "ä"}, imageUrl="https://x")).request
        data = sum(map(len, ("type", "Generic", "k", "message_id", request.message_id))) + 2
        shown = sum(map(len, ("title", "42", "body", "The purpose of life", "image", "https://x")))
        self.assertEqual(size_of(request, "fcm"), data + shown)
        silent = request_of(message(silent=True, extras={"k": [1]})).request
        self.assertEqual(size_of(silent, "fcm"), len("k[1]message_id" + silent.message_id))

    def test_apns_counts_the_payload_as_it_is_sent(self):
        request = request_of(message(extras={"k": 'ä"\n'})).request
        payload = re.search('"payload":(.*)}$', value_of(request, APNS, settings()))[1]
        self.assertIn(r'"k":"ä\"\n"', payload)
        self.assertEqual(size_of(request, "apns"), len(payload.encode()))


class JSONText(unittest.TestCase):
    def test_numbers_are_printed_as_javascript_does(self):
        for text, expected in (
            ("1.0", "1"),
            ("-0.0", "0"),
            ("-0", "0"),
            ("18446744073709551615", "18446744073709551615"),
            ("9007199254740993", "9007199254740993"),
            ("1e20", "100000000000000000000"),
            ("1e21", "1e+21"),
            ("123456789012345680000.0", "123456789012345680000"),
            ("1.5e-6", "0.0000015"),
            ("1e-7", "1e-7"),
            ("-12.50", "-12.5"),
            ("1.25e300", "1.25e+300"),
            ("5e-324", "5e-324"),
        ):
            with self.subTest(text):
                self.assertEqual(number_text(parse(text.encode())), expected)

    def test_texts_are_escaped_as_javascript_does(self):
        text = 'a/"\\\b\f\n\r\t\x00\x1f\x7fäé\u2028😀'
        expected = '"a/\\"\\\\\\b\\f\\n\\r\\t\\u0000\\u001f\x7fäé\u2028😀"'
        self.assertEqual(written(text), expected)

    def test_half_a_surrogate_pair_is_no_text(self):
        for text in (rb'"\ud83d"', rb'{"a":["\ude00"]}', rb'{"\ud83d":1}'):
            with self.subTest(text), self.assertRaises(DeadLetter):
                parse(text)
        self.assertEqual(parse(rb'"\ud83d\ude00"'), "😀")


class Headers(unittest.TestCase):
    def test_they_are_those_of_every_dispatch_record(self):
        trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        request = outcome(BASE | {"request_id": "r"}, {"traceparent": trace}).request
        headers = headers_of(request, APNS, "user/17", ("event-type", "app", "order-id"))
        self.assertEqual(
            list(headers.items()),
            [
                ("message-id", request.message_id),
                ("platform", "apns"),
                ("source", "notifications.requests/3/4711"),
                ("expires-at", str(NOW + 86_400_000)),
                ("audience", "user/17"),
                ("event-type", "message"),
                ("app", APNS.app),
                ("request-id", "r"),
                ("traceparent", trace),
            ],
        )


class Generator(unittest.TestCase):
    SEED = seed_of_run()

    def outcomes(self, **members):
        source = Requests(self.SEED, ["user/1", "place/2", "channel/3"], **members)
        for at in range(3_000):
            made = source.next()
            yield made, outcome_of(Record("notifications.requests", 0, at, source.now, *made.input), Settings(), source.now)

    def test_a_good_request_is_sent_or_has_expired_and_its_messages_are_json(self):
        for made, found in self.outcomes(bad_rate=0):
            with self.subTest(seed=self.SEED, made=made):
                self.assertIsNone(found.dead_letter)
                for device in (FCM, APNS) if found.request else ():
                    text = value_of(found.request, device, Settings())
                    self.assertEqual(written(parse(text.encode())), text)

    def test_a_bad_request_is_a_dead_letter_of_its_code(self):
        seen = set()
        for made, found in self.outcomes(bad_rate=1):
            with self.subTest(seed=self.SEED, made=made):
                self.assertIsNotNone(made.code)
                self.assertIn(made.code, found.dead_letter or ())
                seen.add(made.kind)
        self.assertEqual(seen, set(KINDS))

    def test_a_seed_repeats_the_requests(self):
        first, second = (Requests(self.SEED, ["user/1"]) for _ in range(2))
        self.assertEqual([first.next() for _ in range(50)], [second.next() for _ in range(50)])


if __name__ == "__main__":
    unittest.main()
