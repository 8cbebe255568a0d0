"""Google's own library writes the same FCM messages: firebase-admin's encoder, fed with what each must say."""

import datetime
import json
import os
import pathlib
import unittest
import warnings

from firebase_admin import messaging
from firebase_admin._messaging_encoder import MessageEncoder
from pushes import generated

from harness.harness import Harness
from harness.seed import seed_of_run
from model.display import shown
from model.records import Settings

SEED = seed_of_run()


def encoded(push, settings):
    """The request's message, built with firebase-admin from the notification and the device alone."""
    notification, device = push.notification, push.device
    data = {"default": notification.default_string}
    if notification.order_type:
        data |= {"order_type": notification.order_type, "order_id": notification.order_id}
    expires = notification.event_time // 1000 + settings.ttl_seconds
    text = shown(notification.payload, device.locale, settings.display)
    headers = {"apns-push-type": "background", "apns-priority": "5", "apns-expiration": str(expires)}
    if text:
        headers |= {"apns-push-type": "alert", "apns-priority": "10", "apns-collapse-id": notification.message_id}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Message.token, in favour of Message.fid.
        message = messaging.Message(
            **{device.target: device.token},
            notification=messaging.Notification(*text) if text else None,
            data=data,
            android=messaging.AndroidConfig(
                priority=settings.android_priority,
                ttl=datetime.timedelta(seconds=settings.ttl_seconds),
                notification=messaging.AndroidNotification(tag=notification.message_id) if text else None,
            ),
            apns=messaging.APNSConfig(
                headers=headers,
                payload=messaging.APNSPayload(messaging.Aps(content_available=True)),
            ),
        )
    return json.loads(json.dumps(message, cls=MessageEncoder))


class FirebaseAdmin(unittest.TestCase):
    def setUp(self):
        self.harness = Harness(SEED, os.environ)

    def check(self, settings, *arguments):
        pushes = [each for each in generated(self.harness, 800, settings, *arguments) if each.device.platform == "fcm"]
        self.assertGreater(len(pushes), 400)
        self.assertTrue(any(each.notification.order_type for each in pushes))
        self.assertEqual({each.device.target for each in pushes}, {"token", "fid"})
        for push in pushes:
            with self.subTest(seed=SEED, source=push.record.source):
                self.assertEqual(json.loads(push.record.value), {"message": encoded(push, settings)})
        return pushes

    def test_the_same_message_built_with_it_is_the_same_JSON(self):
        self.check(Settings("Europe/Berlin"))

    def test_it_agrees_on_other_settings_too(self):
        settings = Settings("America/New_York", ttl_seconds=90, android_priority="normal")
        self.check(settings, "--set", "notification.ttl=90s", "--set", "notification.android-priority=normal")

    def test_it_agrees_on_order_pushes_that_are_shown(self):
        file = pathlib.Path(__file__).parents[2] / "Examples/display.json"
        settings = Settings("Europe/Berlin", display=json.loads(file.read_text()))
        pushes = self.check(settings, "--set", "display=on", "--set", f"display.templates=@{file}")
        titles = {encoded(push, settings)["notification"]["title"].partition(" ")[0] for push in pushes}
        self.assertEqual(titles, {"Order", "Bestellung"})

    def test_its_encoder_refuses_what_the_provider_refuses(self):
        """So that the comparison above says something: the encoder checks types, priorities and times."""
        push = next(each for each in generated(self.harness, 50, Settings("Europe/Berlin")) if each.device.platform == "fcm")
        for wrong in (Settings(android_priority="urgent"), Settings(ttl_seconds=-1)):
            with self.assertRaises(ValueError):
                encoded(push, wrong)
        push.notification.order_type = 7
        with self.assertRaises(ValueError):
            encoded(push, Settings())


if __name__ == "__main__":
    unittest.main()
