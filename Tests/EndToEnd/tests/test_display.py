"""Order pushes that are shown: docs/rules.md, section 7.1."""

import copy
import json
import pathlib
import re
import unittest

from model.display import is_valid, shown
from model.messages import message_id, value_of
from model.records import Device, Notification, Settings

PAGE = (pathlib.Path(__file__).parents[3] / "docs/rules.md").read_text()
TEMPLATES = json.loads(re.search(r"```json\n(.*?)\n```", PAGE[PAGE.index("### 7.1") :], re.S)[1])
PAYLOAD = {"event_type": "event_order_created", "visible_id": "A-17", "start_time": "14:00", "end_time": "16:00"}
ENGLISH = ("Order A-17", "To be picked from 14:00 to 16:00.")
GERMAN = ("Bestellung A-17", "Ab 14:00 zu packen.")


class Texts(unittest.TestCase):
    def test_the_language_is_the_locale_then_its_language_then_the_default(self):
        templates = copy.deepcopy(TEMPLATES)
        templates["languages"]["DE_at"] = {"timeslot_started": {"title": "Jause", "body": ""}}
        for locale, expected in (
            ("de", GERMAN),
            ("de-DE", GERMAN),
            ("DE_at", GERMAN),
            ("de-Latn-AT", GERMAN),
            ("fr-FR", ENGLISH),
            ("d", ENGLISH),
            ("", ENGLISH),
            (None, ENGLISH),
        ):
            with self.subTest(locale):
                self.assertEqual(shown(PAYLOAD, locale, templates), expected)
        self.assertEqual(shown(PAYLOAD | {"event_type": "event_timeslot_started"}, "de-AT", templates), ("Jause", ""))

    def test_type_and_status_come_before_the_type_and_without_a_text_the_push_is_data_only(self):
        changed = PAYLOAD | {"event_type": "event_order_status_changed", "new_status": "picked"}
        self.assertEqual(shown(changed, "en", TEMPLATES), ("Order A-17", "Picked."))
        self.assertEqual(shown(changed, "de", TEMPLATES), ("Order A-17", "Picked."))
        self.assertIsNone(shown(changed | {"new_status": "shipped"}, "en", TEMPLATES))
        self.assertIsNone(shown(PAYLOAD, "en", None))

    def test_a_text_for_a_kind_of_audience_comes_before_those_for_any_in_each_language(self):
        def text(title):
            return {"title": title, "body": ""}

        english = {"order_created": text("any"), "order_created@user": text("user"), "order_status_changed@user": text("changed")}
        templates = {"default": "en", "languages": {"en": english | {"order_status_changed/ready@user": text("ready")}}}
        changed = {"event_type": "event_order_status_changed", "new_status": "picked"}
        for payload, audience, expected in (
            (PAYLOAD, "place/1", "any"),
            (PAYLOAD, "user/1", "user"),
            (changed, "user/1", "changed"),
            (changed | {"new_status": "ready"}, "user/1", "ready"),
        ):
            self.assertEqual(shown(payload, "en", templates, audience), (expected, ""))
        self.assertIsNone(shown(changed, "en", templates, "place/1"))
        templates["languages"]["de"] = {"order_created": text("alle")}
        self.assertEqual(shown(PAYLOAD, "de", templates, "user/1"), ("alle", ""))
        self.assertTrue(is_valid(templates))
        self.assertFalse(is_valid({"default": "en", "languages": {"en": {"order_created@team": text("x")}}}))

    def test_a_member_that_the_payload_lacks_is_empty_and_values_are_no_templates(self):
        templates = {"default": "en", "languages": {"en": {"order_created": {"title": "{new_status}", "body": "{visible_id}"}}}}
        self.assertEqual(shown(PAYLOAD | {"visible_id": "{place_id}"}, "en", templates), ("", "{place_id}"))

    def test_wrong_templates_are_refused(self):
        self.assertTrue(is_valid(TEMPLATES))
        text = {"title": "a", "body": "b"}
        for wrong in (
            {"default": "fr"},
            {"languages": TEMPLATES["languages"] | {"de AT": {}}},
            {"languages": TEMPLATES["languages"] | {"": {}}},
            {"languages": TEMPLATES["languages"] | {"DE": {}}},
            {"languages": {}},
            {"languages": {"en": {"order_teleported": text}}},
            {"languages": {"en": {"order_created/pending": text}}},
            {"languages": {"en": {"order_created": {"title": "a"}}}},
            {"languages": {"en": {"order_created": text | {"sound": "s"}}}},
            {"languages": {"en": {"order_created": text | {"title": "{name}"}}}},
            {"languages": {"en": {"order_created": text | {"title": "{"}}}},
            {"languages": {"en": {"order_created": text | {"title": "{{visible_id}}"}}}},
            {"more": 1},
        ):
            with self.subTest(wrong):
                self.assertFalse(is_valid(TEMPLATES | wrong))


class Messages(unittest.TestCase):
    def test_they_differ_from_those_that_are_data_only_as_the_page_says(self):
        identity = message_id("event", ["1"], "event_order_created", "", 0)
        notification = Notification(identity, "", "1", 0, PAYLOAD, None, False, ["place/1"])
        fcm, apns = (Device("t", "h", platform, "a", "production", None, "en") for platform in ("fcm", "apns"))
        plain, settings = Settings(), Settings(display=TEMPLATES)
        notice = {"title": ENGLISH[0], "body": ENGLISH[1]}

        before, after = (value_of(notification, fcm, each)["message"] for each in (plain, settings))
        self.assertEqual(list(after), ["token", "notification", "data", "android", "apns"])
        self.assertEqual(after.pop("notification"), notice)
        self.assertEqual(list(after["android"].items())[-1], ("notification", {"tag": identity}))
        del after["android"]["notification"]
        changed = {"apns-push-type": "alert", "apns-priority": "10"}
        before["apns"]["headers"] |= changed | {"apns-collapse-id": identity}
        self.assertEqual(json.dumps(after), json.dumps(before))

        before, after = (value_of(notification, apns, each) for each in (plain, settings))
        before["headers"] |= changed
        before["payload"]["aps"] = {"alert": notice, "content-available": 1}
        self.assertEqual(json.dumps(after), json.dumps(before))


if __name__ == "__main__":
    unittest.main()
