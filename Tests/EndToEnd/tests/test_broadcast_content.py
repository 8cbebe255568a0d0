"""What a broadcast becomes: each test has the rule of docs/rules.md, section 14, that it is for."""

import json
import pathlib
import re
import unittest

from generator.broadcasts import BAD, Broadcasts
from generator.inputs import BASE_MS, compact
from model.broadcast_content import read_broadcast
from model.broadcast_messages import MAX_PAYLOAD_BYTES, Renderer, outcome_of, text_for
from model.records import Device, Record

ROOT = pathlib.Path(__file__).parents[3]
RULES = (ROOT / "docs/rules.md").read_text()
APP = "com.example.shop"
FCM = Device("made-up-token", "", "fcm", APP, "production", None, "hi-IN")
APNS = Device("0a1b2c3d", "", "apns", APP, "production", None, "hi-IN")
FIELDS = [{"language": "en", "title": "Maintenance", "msg": "Back at noon."}]
DISPLAY = {
    "actiontype": "display",
    "notificationtype": "downtime",
    "notificationid": "1235",
    "expiry": "1000millis",
    "fields": FIELDS,
}
SILENT = {"actiontype": "non-display", "notificationtype": "enable-feature", "notificationid": "1235", "expiry": "1000millis"}


def record_of(value, key=b"1235", timestamp=BASE_MS):
    return Record("notifications.broadcasts", 0, 12, timestamp, key, value if isinstance(value, bytes) else compact(value))


def examples():
    """The lines of JSON of section 14.5: a broadcast, its messages with all languages, then those of the device's language."""
    section = RULES[RULES.index("### 14.5 ") :]
    return re.findall(r"```json\n(.+)\n```", section)


class Content(unittest.TestCase):
    def refused(self, value, sentence, code="bad_request", **record):
        outcome = outcome_of(record_of(value, **record))
        self.assertIn(code, outcome.dead_letter or ())
        self.assertIn(sentence, outcome.sentences)

    def test_the_examples_of_the_page(self):
        shown, fcm, apns, _, _, silent, silent_fcm, silent_apns = examples()
        for broadcast, messages in ((shown, (fcm, apns)), (silent, (silent_fcm, silent_apns))):
            renderer = Renderer(outcome_of(record_of(broadcast.encode())).broadcast)
            self.assertEqual(tuple(map(renderer.value_of, (FCM, APNS))), messages)

    def test_the_headers(self):
        broadcast = outcome_of(record_of(DISPLAY | {"published_at": 1751875337000})).broadcast
        headers = {
            "message-id": "msg-1751875337000-web7dzoh8",
            "platform": "fcm",
            "source": "notifications.broadcasts/0/12",
            "expires-at": "1751875338000",
            "audience": broadcast.audience,
        }
        self.assertEqual(Renderer(broadcast).headers_of(FCM), headers)

    def test_without_published_at_it_is_the_time_of_the_record(self):
        self.assertEqual(read_broadcast(record_of(DISPLAY)).broadcast.published_at, BASE_MS)

    def test_the_expiry(self):
        for expiry, sent, instant in (
            ("1000millis", "1000millis", BASE_MS + 1_000),
            (BASE_MS + 5, str(BASE_MS + 5), BASE_MS + 5),
            (str(BASE_MS + 5), str(BASE_MS + 5), BASE_MS + 5),
            ("2026-03-01T00:00:01Z", str(BASE_MS + 1_000), BASE_MS + 1_000),
            (BASE_MS - 5, str(BASE_MS - 5), BASE_MS - 5),
        ):
            broadcast = read_broadcast(record_of(DISPLAY | {"expiry": expiry})).broadcast
            self.assertEqual((broadcast.expiry, broadcast.expires_at), (sent, instant))

    def test_seconds_are_no_expiry(self):
        allowed = "allowed is a lifetime such as 34646millis, an ISO 8601 time, or milliseconds since 1970 from 10^11 on"
        self.refused(DISPLAY | {"expiry": 34646}, f"expiry is 34646; {allowed}")
        self.refused(DISPLAY | {"expiry": "1751875337"}, f'expiry is "1751875337"; {allowed}')

    def test_the_longest_lifetime(self):
        self.assertIsNone(outcome_of(record_of(DISPLAY | {"expiry": "2419200000millis"})).dead_letter)
        sentence = "expiry is 2419200001 ms after published_at; allowed are at most 2419200000, which is 28 days"
        self.refused(DISPLAY | {"expiry": "2419200001millis"}, sentence)

    def test_the_channel(self):
        for members, audience in (
            ({}, "channel/General"),
            ({"channel": "a"}, "channel/a"),
            ({"audience": "channel/a"}, "channel/a"),
            ({"audience": None, "channel": " "}, "channel/General"),
        ):
            self.assertEqual(read_broadcast(record_of(DISPLAY | members)).broadcast.audience, audience)
        sentence = "audience is a list; allowed is one channel/<id> in at most 1,024 bytes"
        self.refused(DISPLAY | {"audience": ["channel/a"]}, sentence)
        both = "audience and channel are both there; allowed is one of them"
        self.refused(DISPLAY | {"audience": "channel/a", "channel": "a"}, both, "conflicting_value")

    def test_the_key_is_the_notificationid(self):
        self.refused(DISPLAY, 'the key is "7"; allowed is the notificationid, "1235"', key=b"7")
        self.refused(DISPLAY, 'the key is missing; allowed is the notificationid, "1235"', key=None)

    def test_a_null_value_cancels(self):
        record = record_of(b"")._replace(value=None)
        self.assertEqual((outcome_of(record).broadcast, outcome_of(record).dead_letter), (None, None))
        self.assertEqual(outcome_of(record._replace(key=None)).dead_letter, {"bad_request"})

    def test_the_members_of_the_other_kind_are_unknown(self):
        allowed = "actiontype, notificationtype, notificationid, expiry, channel, data, audience, published_at"
        self.refused(SILENT | {"fields": None}, f'"fields" is not a member of a non-display broadcast; allowed are {allowed}')
        sentence = '"x" is not a member of fields[0]; allowed are language, title, msg'
        self.refused(DISPLAY | {"fields": [FIELDS[0] | {"x": 1}]}, sentence)

    def test_the_types(self):
        self.assertEqual(read_broadcast(record_of(DISPLAY | {"notificationtype": "news"})).broadcast.notification_type, "others")
        allowed = "allowed are enable-feature and disable-feature"
        sentence = f'"general" is no notificationtype of a non-display broadcast; {allowed}'
        self.refused(SILENT | {"notificationtype": "general"}, sentence, "unknown_type")

    def test_each_language_once(self):
        sentence = 'fields[1].language is "EN", which fields[0] has; allowed is each language once'
        self.refused(DISPLAY | {"fields": FIELDS + [FIELDS[0] | {"language": "EN"}]}, sentence, "conflicting_value")
        self.refused(DISPLAY | {"fields": []}, "fields has 0 entries; allowed are 1 to 100")

    def test_the_language_of_a_device(self):
        fields = [FIELDS[0] | {"language": each} for each in ("en", "de", "pt_BR")]
        texts = read_broadcast(record_of(DISPLAY | {"fields": fields})).broadcast.texts
        for locale, language in (("DE-at", "de"), ("pt-br", "pt_BR"), ("pt", "en"), ("sw", "en"), (None, "en")):
            self.assertEqual(text_for(locale, texts).language, language)

    def test_the_size(self):
        def is_too_large(size):
            fields = [FIELDS[0] | {"msg": "x" * size}]
            return outcome_of(record_of(DISPLAY | {"fields": fields})).dead_letter == {"payload_too_large"}

        largest = max(size for size in range(1_000, 2_500) if not is_too_large(size))
        fields = [FIELDS[0] | {"msg": "x" * largest}]
        broadcast = outcome_of(record_of(DISPLAY | {"fields": fields})).broadcast
        payload = json.loads(Renderer(broadcast).value_of(APNS))["payload"]
        # Another byte of the text is another two of the payload: it is in the alert and in the data.
        self.assertIn(len(compact(payload)), (MAX_PAYLOAD_BYTES - 1, MAX_PAYLOAD_BYTES))

    def test_the_bad_ones_of_the_generator_are_bad(self):
        source = Broadcasts(1, ["a"])
        records = [source.next(BASE_MS, "bad") for _ in BAD]
        self.assertEqual([each.key for each in records if not outcome_of(record_of(each.value, each.key)).dead_letter], [])
        others = [source.next(BASE_MS) for _ in range(300)]
        bad = {each.key for each in others if each.value and outcome_of(record_of(each.value, each.key)).dead_letter}
        self.assertGreater(len(others), 10 * len(bad))


if __name__ == "__main__":
    unittest.main()
