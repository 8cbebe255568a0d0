"""The objects of documents 2 and 5, on each platform: docs/rules.md, sections 5.5, 8.6, 9 and 10."""

import json
import pathlib
import re
import unittest

from model.request_content import APP_TYPES
from model.request_messages import value_of
from model.requests import outcome_of
from tests.sample_requests import APNS, APP, FCM, NOW, app, message, record, refused, request_of, sent, settings

PAGE = (pathlib.Path(__file__).parents[3] / "docs/rules.md").read_text()
IMAGE = "https://static.scientificamerican.com//file/6707FBEA-499C-41ED-9532AB44DDA359C1_source.jpg"
# The `data` of document 2's own examples, as they are printed there.
DOCUMENT_2 = {
    "Generic": """{
    "type": "Generic"
  }""",
    "NewBill": """{
    "type": "NewBill",
    "bill_matched_via_banking_card": "True"
  }""",
    "BillExportStarted": """{
    "type": "BillExportStarted"
  }""",
    "NewBankingCardAddedSuccess": """{
    "type": "NewBankingCardAddedSuccess",
    "bank_card_link_success": "True"
  }""",
    "NewBankingCardAddedError": """{
    "type": "NewBankingCardAddedError",
    "bank_card_link_success": "False"
  }""",
    "DatevSuccess": """{
      "type": "DatevSuccess",
      "click_action": "FLUTTER_NOTIFICATION_CLICK",
      "view": "datev_success"
  }""",
    "DatevError": """{
      "type": "DatevError",
      "click_action": "FLUTTER_NOTIFICATION_CLICK",
      "view": "datev_failed",
      "error": "ThisIsAndError",
      "errorUri": "this/is/the/error/uri",
      "message”": "Super nice error message exactly describing the problem",
      "requestId": "12345"
  }""",
    "WarrantyReminder": """{
    "type": "WarrantyReminder"
  }""",
    "FinoSynchronisation": """{
    "type": "FinoSynchronisation",
    "service": "fino",
    "action": "added"
  }""",
    "FinoDisconnected": """{
    "type": "FinoDisconnected",
    "service": "fino",
    "action": "deleted"
  }""",
    "FinoChallengeRequired": """{
    "type": "FinoChallengeRequired",
    "bankId": "<inernal_bank_id>"
  }""",
}


def text_of(data):
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def data_of(data, **members):
    """What FCM's data has for these members of document 2's data, without the last one."""
    found = sent(app(data), **members)[0]["message"]["data"]
    found.pop("message_id")
    return found


def notes_of(data):
    return dict(request_of(app(data)).notes)


class Page(unittest.TestCase):
    def test_the_examples_of_the_page_are_what_is_sent_byte_for_byte(self):
        blocks = re.findall(r"```json\n(.*?)\n```", PAGE[PAGE.index("### 9.2") : PAGE.index("## 11. ")], re.S)
        self.assertEqual(len(blocks), 9)
        for at in range(0, len(blocks), 3):
            request, *expected = blocks[at : at + 3]
            chosen = settings(notification_count="badge" in request)
            found = outcome_of(record(request.encode()), chosen, NOW).request
            for device, text in zip((FCM, APNS), expected, strict=True):
                with self.subTest(request, platform=device.platform):
                    self.assertEqual(value_of(found, device, chosen), text)

    def test_the_table_of_types_is_that_of_the_page(self):
        rows = {}
        section = PAGE[PAGE.index("### 9.1") : PAGE.index("### 9.2")]
        for name, fixed, expected in re.findall(r"^\| `(\w+)` \|(.*)\|(.*)\|$", section, re.M):
            rows[name] = (dict(re.findall(r"`(\w+)`: `(\w+)`", fixed)), tuple(re.findall(r"`(\w+)`", expected)))
        self.assertEqual(rows, APP_TYPES)


class Types(unittest.TestCase):
    def test_every_example_of_document_2_is_sent_byte_for_byte(self):
        self.assertEqual(DOCUMENT_2.keys(), APP_TYPES.keys())
        for name, data in DOCUMENT_2.items():
            text = f'{{"title":"42","body":"The purpose of life","imageUrl":"{IMAGE}","data":{data}}}'
            value = f'{{"request_id":"r","audience":"user/17","app":{text}}}'.encode()
            found = outcome_of(record(value), settings(), NOW)
            with self.subTest(name):
                identity = found.request.message_id
                expected = text_of(json.loads(data.replace("”", ""))).removesuffix("}") + f',"message_id":"{identity}"}}'
                self.assertIn(f'"data":{expected},"android"', value_of(found.request, FCM, settings()))
                beside = expected[1:].replace(',"message_id"', f',"imageUrl":"{IMAGE}","message_id"')
                self.assertTrue(value_of(found.request, APNS, settings()).endswith(beside + "}"))
                self.assertEqual(dict(found.notes), {"quoted_keys": 1} if name == "DatevError" else {})

    def test_a_missing_fixed_pair_comes_after_the_own_members_in_the_order_of_the_table(self):
        for name, (fixed, _) in APP_TYPES.items():
            with self.subTest(name):
                found = data_of({"type": name, "own": 1, **{key: None for key in fixed}})
                self.assertEqual(list(found.items()), [("type", name), ("own", "1"), *fixed.items()])

    def test_another_value_of_a_fixed_pair_is_refused(self):
        for name, (fixed, _) in APP_TYPES.items():
            for key in fixed:
                for value in ("other", 1, {}, "", "datev_Success", "Fino"):
                    with self.subTest(name, key=key, value=value):
                        expected = ({"conflicting_value"}, {"app.data." + key})
                        self.assertEqual(refused(app({"type": name, key: value})), expected)

    def test_true_and_false_are_compared_without_case_and_written_as_in_the_table(self):
        for value in (True, "true", "TRUE", "True"):
            self.assertEqual(data_of({"type": "NewBill", "bill_matched_via_banking_card": value})[BILL], "True")
        self.assertEqual(data_of({"type": "NewBankingCardAddedError", "bank_card_link_success": "fALSE"})[CARD], "False")
        wrong = app({"type": "NewBankingCardAddedError", "bank_card_link_success": True})
        self.assertEqual(refused(wrong)[0], {"conflicting_value"})
        # It is only so for fixed pairs.
        self.assertEqual(data_of({BILL: "true"})[BILL], "true")

    def test_missing_expected_keys_are_counted_and_the_notification_is_sent(self):
        self.assertEqual(notes_of({"type": "DatevError"}), {"missing_keys": 4})
        self.assertEqual(notes_of({"type": "DatevError", "error": "", "requestId": None}), {"missing_keys": 3})
        self.assertEqual(notes_of({"type": "FinoChallengeRequired"}), {"missing_keys": 1})

    def test_an_unknown_type_is_sent_and_counted_or_refused(self):
        for name in ("NewBillAdded", "BankingCardAdded", "newbill", " NewBill"):
            with self.subTest(name):
                self.assertEqual(data_of({"type": name}), {"type": name})
                self.assertEqual(notes_of({"type": name}), {"unknown_types": 1})
                found = refused(app({"type": name}), unknown_types="dead-letter")
                self.assertEqual(found, ({"unknown_type"}, {"app.data.type"}))

    def test_a_type_of_the_user_is_known(self):
        types = {"LoyaltyPoints": ({"view": "points", "new": "True"}, ("points",))}
        chosen = {"app_types": types, "unknown_types": "dead-letter"}
        self.assertEqual(data_of({"type": "LoyaltyPoints"}, **chosen), {"type": "LoyaltyPoints", "view": "points", "new": "True"})
        self.assertEqual(dict(request_of(app({"type": "LoyaltyPoints"}), **chosen).notes), {"missing_keys": 1})
        self.assertEqual(refused(app({"type": "LoyaltyPoints", "view": "x"}), **chosen)[0], {"conflicting_value"})


BILL, CARD = "bill_matched_via_banking_card", "bank_card_link_success"


class AppFields(unittest.TestCase):
    def test_title_and_body(self):
        fcm, apns = sent(app())
        self.assertEqual(fcm["message"]["notification"], {"title": "42", "body": "The purpose of life"})
        self.assertNotIn("payload", fcm["message"]["apns"])
        self.assertEqual(apns["payload"]["aps"], {"alert": {"title": "42", "body": "The purpose of life"}})
        for name in ("title", "body", "data"):
            for value in (None, "", 42):
                with self.subTest(name, value=value):
                    self.assertEqual(refused({"app": APP | {name: value}}), ({"bad_request"}, {"app." + name}))

    def test_the_image(self):
        fcm, apns = sent(app(imageUrl=IMAGE))
        self.assertEqual(fcm["message"]["notification"]["image"], IMAGE)
        self.assertEqual(fcm["message"]["apns"]["fcm_options"], {"image": IMAGE})
        self.assertEqual(fcm["message"]["apns"]["payload"], {"aps": {"mutable-content": 1}})
        self.assertEqual(apns["payload"]["aps"]["mutable-content"], 1)
        self.assertEqual(list(apns["payload"]), ["aps", "type", "imageUrl", "message_id"])
        for value in ("ic_stat", "ftp://x", "HTTPS://x", 1):
            self.assertEqual(refused(app(imageUrl=value)), ({"bad_request"}, {"app.imageUrl"}))
        twice = app({"imageUrl": IMAGE}, imageUrl=IMAGE)
        self.assertEqual(refused(twice), ({"conflicting_value"}, {"app.imageUrl"}))
        self.assertEqual(sent(app({"imageUrl": 1}))[1]["payload"]["imageUrl"], "1")

    def test_the_click_action_is_in_both_places(self):
        fcm, apns = sent(app({"click_action": "OPEN"}))
        self.assertEqual(fcm["message"]["android"]["notification"]["click_action"], "OPEN")
        self.assertEqual((fcm["message"]["data"]["click_action"], apns["payload"]["click_action"]), ("OPEN", "OPEN"))
        self.assertNotIn("click_action", sent(app({"click_action": ""}))[0]["message"]["android"]["notification"])

    def test_the_type(self):
        for value in (None, " ", True, {}, ["NewBill"]):
            with self.subTest(value):
                self.assertEqual(refused(app({"type": value})), ({"bad_request"}, {"app.data.type"}))
        self.assertEqual(data_of({"type": 7.0}), {"type": "7"})

    def test_an_unknown_member_is_refused(self):
        self.assertEqual(refused(app(imageURL=None)), ({"bad_request"}, {"app.imageURL"}))

    def test_quotes_around_keys_are_removed_and_counted(self):
        for key in ("“k”", '"k"', "‘k’", "'k'", "k”", '”“k"'):
            with self.subTest(key):
                self.assertEqual(data_of({key: "v"}), {"type": "Generic", "k": "v"})
                self.assertEqual(notes_of({key: "v"}), {"quoted_keys": 1})
        self.assertEqual(data_of({"a”": 1, "b": 2, "a": 3}), {"type": "Generic", "a": "3", "b": "2"})
        self.assertEqual(data_of({'k"k': 1}), {"type": "Generic", 'k"k': "1"})
        self.assertEqual(refused(app({"“aps”": 1}))[1], {"app.data.aps"})
        self.assertEqual(refused(app({"”": 1}))[1], {"app.data."})


class Values(unittest.TestCase):
    def test_every_kind_of_value_on_each_platform(self):
        for value, of_app, to_fcm, to_apns in (
            ("", "", "", ""),
            (" a ", " a ", " a ", " a "),
            (1.0, "1", "1", "1"),
            (12345678901234567890, "12345678901234567890", "12345678901234567890", "12345678901234567890"),
            (1e21, "1e+21", "1e+21", "1e+21"),
            (True, "True", "true", "true"),
            (False, "False", "false", "false"),
            ([1.50, None, "a/b"], '[1.5,null,"a/b"]', '[1.5,null,"a/b"]', '[1.5,null,"a/b"]'),
            ({"ä": {}}, '{"ä":{}}', '{"ä":{}}', '{"ä":{}}'),
        ):
            with self.subTest(value):
                self.assertEqual(data_of({"k": value})["k"], of_app)
                self.assertEqual(sent(app({"k": value}))[1]["payload"]["k"], of_app)
                request = request_of(message(extras={"k": value})).request
                self.assertEqual(sent(message(extras={"k": value}))[0]["message"]["data"]["k"], to_fcm)
                native = text_of(to_apns) if isinstance(value, str) else to_apns
                self.assertIn(f'"k":{native},"message_id"', value_of(request, APNS, settings()))

    def test_null_is_left_out(self):
        self.assertEqual(data_of({"k": None}), {"type": "Generic"})
        for value in (message(extras={"k": None}), message(extras=None)):
            self.assertEqual(sent(value), sent(message()))

    def test_a_key_that_is_reserved_is_refused_with_any_value(self):
        for key in ("", "from", "message_type", "notification", "google", "googleX", "gcm.n", "aps", "message_id", "default"):
            with self.subTest(key):
                self.assertEqual(refused(app({key: None})), ({"bad_request"}, {"app.data." + key}))
                self.assertEqual(refused(message(extras={key: "v"})), ({"bad_request"}, {"message.extras." + key}))
        for key in ("event_type", "actiontype"):
            self.assertEqual(refused(app({key: "v"}))[0], {"bad_request"})
            self.assertEqual(refused(message(extras={key: "v"}))[0], {"bad_request"})
        self.assertEqual(refused(message(extras={"type": "v"}))[1], {"message.extras.type"})
        self.assertIsNotNone(request_of(app({"From": 1, "goo": 1, "notificationid": 1})).request)

    def test_a_key_that_fcm_overwrites_is_counted(self):
        self.assertEqual(notes_of({"collapse_key": "a"}), {"overwritten_keys": 1})
        self.assertEqual(dict(request_of(message(extras={"collapse_key": 1})).notes), {"overwritten_keys": 1})


class DeepLinks(unittest.TestCase):
    def test_a_deep_link_is_two_strings_on_both_platforms(self):
        given = {"order_type": " Food", "order_id": 12345, "k": 1}
        for value in (app(given), message(extras=given)):
            fcm, apns = sent(value)
            for found in (fcm["message"]["data"], apns["payload"]):
                self.assertEqual((found["order_type"], found["order_id"]), ("food", "12345"))
                self.assertEqual([name for name in found if name in given], list(given))
            self.assertEqual(dict(request_of(value).notes), {})

    def test_without_a_link_they_are_ordinary_members_and_counted(self):
        for order_type, order_id in (("pizza", 1), ("food", ""), ("food", True), (1, 2)):
            with self.subTest(order_type):
                value = message(extras={"order_type": order_type, "order_id": order_id})
                self.assertEqual(sent(value)[1]["payload"]["order_id"], order_id)
                self.assertEqual(dict(request_of(value).notes), {"unlinked": 1})
        self.assertEqual(dict(request_of(message(extras={"order_type": "food", "order_id": None})).notes), {})

    def test_a_silent_message_cannot_have_one(self):
        link = {"order_type": "d2d", "order_id": "1"}
        self.assertEqual(refused(message(silent=True, extras=link)), ({"conflicting_value"}, {"message.silent"}))
        self.assertIsNotNone(request_of(message(silent=True, extras=link | {"order_type": "pizza"})).request)


def at(value, path):
    for name in path.split("/"):
        value = value.get(name) if isinstance(value, dict) else None
    return value


ANDROID, IOS, DIRECT = "message/android/notification/", "message/apns/payload/aps/", "payload/aps/"
# By the row of section 10: the members, and by platform where the value is, visible.
FIELDS = {
    "title": ({"title": "T"}, {"message/notification/title": "T", IOS + "alert": None}, {DIRECT + "alert/title": "T"}),
    "body": ({"body": "B"}, {"message/notification/body": "B", IOS + "alert": None}, {DIRECT + "alert/body": "B"}),
    "titleLocKey": (
        {"titleLocKey": "K"},
        {ANDROID + "title_loc_key": "K", IOS + "alert/title-loc-key": "K", IOS + "alert/title": "Bills"},
        {DIRECT + "alert/title-loc-key": "K"},
    ),
    "titleLocArgs": (
        {"titleLocKey": "K", "titleLocArgs": ["a", ""]},
        {ANDROID + "title_loc_args": ["a", ""], IOS + "alert/title-loc-args": ["a", ""]},
        {DIRECT + "alert/title-loc-args": ["a", ""]},
    ),
    "bodyLocKey": (
        {"bodyLocKey": "K"},
        {ANDROID + "body_loc_key": "K", IOS + "alert/loc-key": "K"},
        {DIRECT + "alert/loc-key": "K"},
    ),
    "bodyLocArgs": (
        {"bodyLocKey": "K", "bodyLocArgs": ["a"]},
        {ANDROID + "body_loc_args": ["a"], IOS + "alert/loc-args": ["a"]},
        {DIRECT + "alert/loc-args": ["a"]},
    ),
    "badge": ({"badge": 0}, {ANDROID + "notification_count": None, IOS + "badge": None}, {DIRECT + "badge": 0}),
    "sound": ({"sound": "s"}, {ANDROID + "sound": "s", IOS + "sound": "s"}, {DIRECT + "sound": "s"}),
    "icon": ({"icon": "i"}, {ANDROID + "icon": "i", IOS + "icon": None}, {DIRECT + "icon": None}),
    "category": ({"category": "c"}, {ANDROID + "tag": "c", IOS + "category": "c"}, {DIRECT + "category": "c"}),
    "collapseKey": (
        {"collapseKey": "k"},
        {"message/android/collapse_key": "k", IOS + "thread-id": "k"},
        {"headers/apns-collapse-id": "k", DIRECT + "thread-id": "k"},
    ),
    "validUntil": ({"validUntil": NOW + 9_999}, {"message/android/ttl": "9s"}, {"headers/apns-expiration": "1751875346"}),
    "extras": ({"extras": {"k": 1}}, {"message/data/k": "1"}, {"payload/k": 1}),
    "silent": ({"silent": False}, {IOS + "content-available": None}, {DIRECT + "content-available": None}),
}
KEPT_WHEN_SILENT = ("validUntil", "extras")
# By member: values that are refused, and the member that is named.
REFUSED = [
    *((name, value, name) for name in ("title", "body", "sound", "icon", "category", "collapseKey") for value in (1, True, ["a"])),
    *((name, value, name) for name in ("titleLocKey", "bodyLocKey") for value in (1, {})),
    *(("badge", value, "badge") for value in ("3", 1.0, 1.5, -1, 1 << 31, True)),
    *(("validUntil", value, "validUntil") for value in ("3600s", "2025-07-07", True, 17)),
    *(("extras", value, "extras") for value in ("k=v", ["k"], 1)),
    *(("silent", value, "silent") for value in ("true", 1, 0)),
    ("titleLocArgs", ["a"], "titleLocArgs"),
    ("bodyLocArgs", ["a"], "bodyLocArgs"),
    ("bodyLocArgs", "a", "bodyLocArgs"),
    ("colapseKey", "a", "colapseKey"),
]


class MessageFields(unittest.TestCase):
    def test_the_fields_are_those_of_the_page(self):
        section = PAGE[PAGE.index("## 10. ") : PAGE.index("### 10.1")]
        self.assertEqual(list(FIELDS), re.findall(r"^\| `(\w+)` \|", section, re.M))

    def test_every_field_of_a_visible_message_on_each_platform(self):
        for name, (members, *expected) in FIELDS.items():
            for found, places in zip(sent(message(**members)), expected, strict=True):
                for path, value in places.items():
                    with self.subTest(name, path=path):
                        self.assertEqual(at(found, path), value)

    def test_every_field_of_a_silent_message_on_each_platform(self):
        bare = sent(message(silent=True))
        for found in bare:
            self.assertNotIn("notification", json.dumps(found))
        self.assertEqual(at(bare[0], "message/apns/payload"), {"aps": {"content-available": 1}})
        self.assertEqual(at(bare[1], "payload/aps"), {"content-available": 1})
        for name, (members, *expected) in FIELDS.items():
            found = sent(message(**members | {"silent": True}))
            if name not in (*KEPT_WHEN_SILENT, "collapseKey"):
                with self.subTest(name):
                    self.assertEqual(found, bare)
            elif name != "collapseKey":
                for each, places in zip(found, expected, strict=True):
                    for path, value in places.items():
                        with self.subTest(name, path=path):
                            self.assertEqual(at(each, path), value)

    def test_a_badge_goes_to_fcm_by_a_setting(self):
        found = sent(message(badge=3), notification_count=True)[0]
        self.assertEqual((at(found, ANDROID + "notification_count"), at(found, IOS + "badge")), (3, 3))
        self.assertEqual(sent(message(badge=3, silent=True), notification_count=True), sent(message(silent=True)))

    def test_what_is_not_accepted_is_named_silent_or_not(self):
        for name, value, named in REFUSED:
            for silent in (False, True):
                if name == "silent" and silent:
                    continue
                members = {"silent": silent, name: value}
                with self.subTest(members):
                    self.assertEqual(refused(message(**members)), ({"bad_request"}, {"message." + named}))
        wrong = message(titleLocKey="T", titleLocArgs=["a", 1])
        self.assertEqual(refused(wrong), ({"bad_request"}, {"message.titleLocArgs[1]"}))

    def test_null_and_blank_are_absent(self):
        for name in FIELDS:
            for value in (None, " "):
                with self.subTest(name, value=value):
                    self.assertEqual(sent(message(**{"title": "a", "body": "b"} | {name: value})), self.without(name))

    @staticmethod
    def without(name):
        return sent({"message": {each: text for each, text in (("title", "a"), ("body", "b")) if each != name}})

    def test_an_empty_list_of_arguments_is_absent(self):
        self.assertEqual(sent(message(titleLocArgs=[], titleLocKey="T")), sent(message(titleLocKey="T")))

    def test_a_visible_message_has_something_to_show(self):
        for name in ("title", "body", "titleLocKey", "bodyLocKey"):
            self.assertIsNotNone(request_of({"message": {name: "a"}}).request)
        for members in ({}, {"badge": 3}, {"sound": "s", "extras": {"k": 1}}, {"silent": False, "title": " "}):
            self.assertEqual(refused({"message": members}), ({"bad_request"}, {"message.title"}))
        self.assertEqual(at(sent({"message": {"silent": True}})[0], "message/data").keys(), {"message_id"})
        self.assertNotIn("notification", sent({"message": {"titleLocKey": "a"}})[0]["message"])


if __name__ == "__main__":
    unittest.main()
