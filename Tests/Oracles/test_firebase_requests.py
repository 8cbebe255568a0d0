"""Google's own library writes the same FCM messages for requests: firebase-admin's encoder, fed with what was asked for."""

import dataclasses
import datetime
import json
import os
import unittest
import warnings

from firebase_admin import messaging
from firebase_admin._messaging_encoder import MessageEncoder
from requested import (
    FIELDS,
    OTHER_SETTINGS,
    comparable,
    document_2,
    fields_of_document_5,
    generated,
    pushes,
    requests_for,
    some_fields_of_document_5,
)
from schemas import SCHEMAS

from harness.harness import Harness
from harness.seed import seed_of_run
from model.records import Settings
from model.request_content import text_of

SEED = seed_of_run()
LONGEST = datetime.timedelta(days=28)


def encoded(request, device, settings):
    """The message for one device."""
    content, is_silent = request.content, request.content.silent
    data = {name: text_of(value) for name, value in content.custom.items()} | {"message_id": request.message_id}
    ttl = datetime.timedelta(milliseconds=max(request.fcm_expiry - request.event_time, 0))
    badge = content.badge if settings.requests.notification_count else None
    message = {
        device.target: device.token,
        "data": data,
        "android": messaging.AndroidConfig(
            collapse_key=request.collapse_key,
            priority=request.priority or ("normal" if is_silent else "high"),
            ttl=min(datetime.timedelta(seconds=int(ttl.total_seconds())), LONGEST),
            notification=None if is_silent else android_notification(request, badge),
        ),
        "apns": messaging.APNSConfig(
            headers={
                "apns-push-type": "background" if is_silent else "alert",
                "apns-priority": "5" if is_silent or request.priority == "normal" else "10",
                "apns-expiration": str(request.fcm_expiry // 1000),
                "apns-collapse-id": request.collapse_key or request.message_id,
            },
            payload=messaging.APNSPayload(messaging.Aps(content_available=True) if is_silent else aps(request, badge)),
            fcm_options=messaging.APNSFCMOptions(image=content.image),
        ),
    }
    if not is_silent:
        message["notification"] = messaging.Notification(content.title, content.body, content.image)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Message.token, in favour of Message.fid.
        return json.loads(json.dumps(messaging.Message(**message), cls=MessageEncoder))


def android_notification(request, badge):
    content = request.content
    return messaging.AndroidNotification(
        icon=content.icon,
        sound=content.sound,
        tag=content.category or request.collapse_key or request.message_id,
        click_action=content.click_action,
        title_loc_key=content.title_key,
        title_loc_args=content.title_arguments,
        body_loc_key=content.body_key,
        body_loc_args=content.body_arguments,
        notification_count=badge,
    )


def aps(request, badge):
    """Title and body are FCM's own; it has no members for localisation keys."""
    content, alert = request.content, None
    if content.title_key or content.body_key:
        alert = messaging.ApsAlert(
            title=content.title,
            body=content.body,
            title_loc_key=content.title_key,
            title_loc_args=content.title_arguments,
            loc_key=content.body_key,
            loc_args=content.body_arguments,
        )
    return messaging.Aps(
        alert=alert,
        badge=badge,
        sound=content.sound,
        category=content.category,
        thread_id=request.collapse_key,
        mutable_content=content.image is not None,
    )


class FirebaseAdmin(unittest.TestCase):
    def setUp(self):
        self.harness = Harness(SEED, os.environ)

    def check(self, timed, settings, *arguments):
        """Compares every message for an FCM device, and gives them."""
        timed = list(timed)
        found = [each for each in pushes(self.harness, timed, settings, *arguments) if each.device.platform == "fcm"]
        self.assertTrue(found)
        for push in found:
            with self.subTest(seed=SEED, request=timed[push.request.record.offset]):
                wanted = {"message": encoded(push.request, push.device, settings)}
                self.assertEqual(comparable(push.value), comparable(wanted))
        return found

    def test_each_type_of_document_2_with_the_documents_own_data(self):
        examples = document_2()
        self.assertEqual(len({each["data"]["type"] for each in examples}), 11)
        found = self.check(requests_for({"app": each} for each in examples), Settings("UTC"))
        self.assertEqual(len(found), len(examples))
        for push in found:
            # The curly quote is one of the document's own typing errors.
            example = examples[push.request.record.offset]
            data = {name.strip("”"): value for name, value in example["data"].items()}
            message = push.value["message"]
            self.assertEqual(message["data"], data | {"message_id": push.request.message_id})
            shown = {"title": example["title"], "body": example["body"], "image": example["imageUrl"]}
            self.assertEqual(message["notification"], shown)

    def test_each_field_of_document_5_alone_and_all_together_visible_and_silent(self):
        for settings, flags in ((Settings("UTC"), []), OTHER_SETTINGS):
            messages = list(fields_of_document_5())
            self.assertEqual(len(messages), 2 * (len(FIELDS) + 2))
            self.check(requests_for({"message": each} for each in messages), settings, *flags)

    def test_no_field_of_document_5_is_forgotten(self):
        known = SCHEMAS["notifications.requests.value"]["$defs"]["message"]["properties"]
        self.assertEqual(known.keys(), {*FIELDS, "silent"})

    def test_any_combination_of_fields(self):
        messages = some_fields_of_document_5(SEED, 1_000)
        self.check(requests_for({"message": each} for each in messages), Settings("UTC"))

    def test_requests_of_all_kinds_in_every_envelope(self):
        for settings, flags in ((Settings("UTC"), []), OTHER_SETTINGS):
            found = self.check(generated(SEED, 1_000), settings, *flags)
            self.assertGreater(len(found), 700)
            self.assertEqual({push.request.kind for push in found}, {"app", "message"})

    def test_whatever_was_asked_for_makes_a_difference(self):
        """So that the comparisons above say something of each field."""
        settings, flags = OTHER_SETTINGS
        complete = {"message": FIELDS}
        image = {"app": document_2()[5]}
        (of_message,), (of_app,) = (self.check(requests_for([each]), settings, *flags) for each in (complete, image))
        changes = dict.fromkeys(("title", "body", "title_key", "body_key", "sound", "icon", "category"), "another")
        changes |= {"title_arguments": ["x"], "body_arguments": [], "badge": 0, "silent": True, "custom": {"k": "w"}}
        cases = [(of_message, name, value) for name, value in changes.items()]
        cases += [(of_app, "image", "https://example.com"), (of_app, "click_action", None)]
        for push, name, value in cases:
            with self.subTest(name):
                content = dataclasses.replace(push.request.content, **{name: value})
                request = dataclasses.replace(push.request, content=content)
                self.assertNotEqual(comparable(push.value["message"]), comparable(encoded(request, push.device, settings)))
        for name, value in {"collapse_key": "x", "priority": "normal", "fcm_expiry": 0, "message_id": "msg-0-0"}.items():
            with self.subTest(name):
                request = dataclasses.replace(of_message.request, **{name: value})
                self.assertNotEqual(of_message.value["message"], encoded(request, of_message.device, settings))


if __name__ == "__main__":
    unittest.main()
