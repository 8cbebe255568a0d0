"""The sentences of a request's dead letter: docs/rules.md, section 8.7."""

import pathlib
import re
import unittest

from generator.inputs import compact, subscription_key
from model.records import Record
from model.request_content import AUDIENCE, TIME
from model.request_messages import pushes_of
from model.subscriptions import Subscriptions
from tests.sample_requests import APNS, FCM, NOW, app, message, record, request_of, settings

PAGE = (pathlib.Path(__file__).parents[3] / "docs/rules.md").read_text()
LONG = "x" * 65
CASES = (
    (app(title=None), "app.title is missing; allowed is a string that is not blank"),
    (app(title=" "), "app.title is blank; allowed is a string that is not blank"),
    (app(body=7), "app.body is a number; allowed is a string that is not blank"),
    (message(badge="3"), "message.badge is a string; allowed is an integer from 0 to 2147483647"),
    (message(badge=-1), "message.badge is -1; allowed is an integer from 0 to 2147483647"),
    (message(badge=1.5), "message.badge is a number; allowed is an integer from 0 to 2147483647"),
    (message(sound=[]), "message.sound is a list; allowed is a string"),
    (message(silent="yes"), "message.silent is a string; allowed is true or false"),
    (message(extras=[]), "message.extras is a list; allowed is an object"),
    (message(bodyLocKey="B", bodyLocArgs="a"), "message.bodyLocArgs is a string; allowed is a list of strings"),
    (message(bodyLocKey="B", bodyLocArgs=["a", True]), "message.bodyLocArgs[1] is a boolean; allowed is a string"),
    (message(titleLocArgs=["a"]), "message.titleLocArgs is there without titleLocKey; allowed are both or neither"),
    (message(title=None, body=None), "message has neither a title nor a body; allowed is that only if silent is true"),
    (message(validUntil="tomorrow"), f'message.validUntil is "tomorrow"; allowed is {TIME}'),
    (app() | {"requested_at": True}, f"requested_at is a boolean; allowed is {TIME}"),
    (app() | {"expires_at": -5}, f"expires_at is -5; allowed is {TIME}"),
    (app() | {"request_id": {}}, "request_id is an object; allowed is a string or a number"),
    (app() | {"priority": "urgent"}, 'priority is "urgent"; allowed is high or normal'),
    (app() | {"collapse_key": 17}, "collapse_key is a number; allowed is a string"),
    (app() | {"audience": None}, f"audience is missing; allowed is {AUDIENCE}"),
    (app() | {"audience": 17}, f"audience is a number; allowed is {AUDIENCE}"),
    (app() | {"audience": ["user/1", "team/7"]}, f'audience[1] is "team/7"; allowed is {AUDIENCE}'),
    (app() | {"audience": "user/\u0001"}, f'audience is "user/<U+1>"; allowed is {AUDIENCE}'),
    (app() | {"audience": LONG}, f'audience is "{LONG[:64]}…"; allowed is {AUDIENCE}'),
    (app() | {"audience": []}, "audience has 0 entries; allowed are 1 to 1,000"),
    (app() | {"audience": ["user/1"] * 1_001}, "audience has 1001 entries; allowed are 1 to 1,000"),
    (
        app(imageURL="https://a"),
        '"imageURL" is not a member of app; allowed are title, body, imageUrl, data',
    ),
    (
        app() | {"colapse_key": None},
        '"colapse_key" is not a member of the request; allowed are request_id, requested_at, audience, expires_at, '
        "collapse_key, priority, app, message",
    ),
    (
        message(colapseKey="a"),
        '"colapseKey" is not a member of message; allowed are title, body, titleLocKey, titleLocArgs, bodyLocKey, bodyLocArgs, '
        "badge, sound, icon, category, collapseKey, validUntil, extras, silent",
    ),
    ({}, "the request has neither app nor message; allowed is exactly one of them"),
    (app() | message(), "the request has app and message; allowed is exactly one of them"),
    ({"app": "Hello"}, "app is a string; allowed is an object"),
    ({"app": {"title": "a", "body": "b"}}, "app.data is missing; allowed is an object"),
    (app({"type": ""}), "app.data.type is blank; allowed is a string or a number"),
    (app({"type": None}), "app.data.type is missing; allowed is a string or a number"),
    (app({"google.x": 1}), '"google.x" in app.data is reserved for FCM'),
    (app({"message_id": 1}), '"message_id" in app.data is reserved for Carillon'),
    (app({"'aps”": 1}), '"aps" in app.data is reserved for APNs'),
    (app({"”": 1}), "app.data has an empty key"),
    (message(extras={"": 1}), "message.extras has an empty key"),
    (message(extras={"type": 1}), '"type" in message.extras is reserved for other kinds of push'),
    (app(imageUrl="ic_stat"), 'app.imageUrl is "ic_stat"; allowed is a URL that begins with https:// or http://'),
    (app(imageUrl=1), "app.imageUrl is a number; allowed is a URL that begins with https:// or http://"),
    (
        app({"imageUrl": "https://b"}, imageUrl="https://a"),
        "app.imageUrl and app.data.imageUrl are both there; allowed is one of them",
    ),
    (
        app({"type": "FinoDisconnected", "action": "added"}),
        'app.data.action is "added"; the type FinoDisconnected has "deleted"',
    ),
    (
        message(collapseKey="a") | {"collapse_key": "a"},
        "collapse_key and message.collapseKey are both there; allowed is one of them",
    ),
    (
        message(validUntil=NOW) | {"expires_at": NOW},
        "expires_at and message.validUntil are both there; allowed is one of them",
    ),
    (
        message(silent=True, extras={"order_type": "food", "order_id": "1"}),
        "message is silent, but its order_type and order_id are a deep link, which needs an alert to tap",
    ),
)

NOT_PERMITTED = 'audience[3] is "user/7"; requests.audiences allows channel/*'


class Sentences(unittest.TestCase):
    def test_each_is_that_of_the_rules(self):
        for value, sentence in CASES:
            with self.subTest(value):
                self.assertEqual(request_of(value).sentences, {sentence})

    def test_one_of_an_unknown_type(self):
        found = request_of(app({"type": "NewBillAdded"}), unknown_types="dead-letter")
        self.assertEqual(found.sentences, {'"NewBillAdded" is no type of app notification, such as NewBill'})

    def test_one_of_an_audience_that_is_not_permitted(self):
        value = {"audience": ["channel/a", "channel/b", "channel/c", "user/7"]} | app()
        found = request_of(value, audiences=("channel/*",))
        self.assertEqual(found.sentences, {NOT_PERMITTED})

    def test_several_problems_have_several(self):
        found = request_of(app(title=None, body=None))
        self.assertEqual({each.split()[0] for each in found.sentences}, {"app.title", "app.body"})

    def test_one_of_a_message_that_is_too_large_names_the_provider_and_the_size(self):
        for device, words in (
            (FCM, "the data and notification of an FCM message have"),
            (APNS, "the payload of an APNs message has"),
        ):
            with self.subTest(device.platform):
                subscription = {"token": device.token, "platform": device.platform, "app": "a", "environment": "production"}
                key = subscription_key("user/17", device.token)
                subscribed = Record("subscriptions", 0, 0, 0, key, compact(subscription | {"audience": "user/17"}))
                value = {"audience": "user/17"} | app({"k": "x" * 4_096})
                _, found = pushes_of(record(value), Subscriptions([subscribed]), settings(), NOW)
                self.assertEqual(found.dead_letter, {"payload_too_large"})
                (sentence,) = found.sentences
                self.assertRegex(sentence, f"^{words} 4[0-9]{{3}} bytes, at most 4096 are allowed$")

    def test_each_whole_sentence_of_the_page_is_among_these(self):
        rows = PAGE.partition("### 8.7")[2].partition("What was found is")[0].split("| Code |")[1].splitlines()[2:]
        said = {each for row in rows if row.startswith("|") for each in re.findall(r"`([^`]+)`", row.rsplit(" | ", 1)[1])}
        # Neither the names of members between them, nor what depends on sizes or settings.
        parts = ("…", "bytes, at most", "NewBillAdded")
        whole = {each for each in said if " " in each and not any(part in each for part in parts)}
        shown = {sentence for _, sentence in CASES} | {
            '"google.x" in app.data is reserved for FCM',
            f'audience[3] is "team/7"; allowed is {AUDIENCE}',
            NOT_PERMITTED,
        }
        self.assertGreater(len(whole), 8)
        self.assertLessEqual(whole, shown)


if __name__ == "__main__":
    unittest.main()
