"""A client of APNs writes the same payloads and headers: `kalyke-apns` from PyPI, fed with what each must say.

It knows every member of `payload` and every header that Carillon writes. The device token and the environment are parts of its
URL, and not compared.
"""

import dataclasses
import json
import os
import unittest

import pushes as order_pushes
from kalyke import ApnsConfig, ApnsPriority, ApnsPushType, Payload, PayloadAlert
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

from harness.harness import Harness
from harness.seed import seed_of_run
from model.records import Settings

SEED = seed_of_run()


def payload(request):
    """The payload of a request, as JSON reads it."""
    content = request.content
    custom = request.content.custom | {"message_id": request.message_id}
    if content.silent:
        return as_json(Payload(content_available=True, custom=custom))
    if content.image is not None:
        custom["imageUrl"] = content.image
    alert = PayloadAlert(
        title=content.title,
        body=content.body,
        title_loc_key=content.title_key,
        title_loc_args=content.title_arguments or None,
        loc_key=content.body_key,
        loc_args=content.body_arguments or None,
    )
    made = Payload(
        alert=alert,
        badge=content.badge,
        sound=content.sound,
        thread_id=request.collapse_key,
        category=content.category,
        mutable_content=content.image is not None,
        custom=custom,
    )
    return as_json(made)


def headers(request, device):
    content = request.content
    is_urgent = request.priority != "normal" and not content.silent
    return headers_of(
        ApnsConfig(
            topic=device.app,
            push_type=ApnsPushType.BACKGROUND if content.silent else ApnsPushType.ALERT,
            priority=ApnsPriority.IMMEDIATELY if is_urgent else ApnsPriority.BASED_ON_POWER,
            expiration=request.expiry // 1000,
            collapse_id=request.collapse_key or request.message_id,
        )
    )


def as_json(made):
    return comparable(json.loads(json.dumps(made.dict())))


def headers_of(config):
    """Those of the library without its name."""
    return {name: value for name, value in config.make_headers().items() if name != "user-agent"}


class APNs(unittest.TestCase):
    def setUp(self):
        self.harness = Harness(SEED, os.environ)

    def check(self, timed, settings, *arguments):
        timed = list(timed)
        found = [each for each in pushes(self.harness, timed, settings, *arguments) if each.device.platform == "apns"]
        self.assertTrue(found)
        for push in found:
            with self.subTest(seed=SEED, request=timed[push.request.record.offset]):
                self.assertEqual(comparable(push.value["payload"]), payload(push.request))
                self.assertEqual(push.value["headers"], headers(push.request, push.device))
        return found

    def test_each_type_of_document_2(self):
        found = self.check(requests_for({"app": each} for each in document_2()), Settings("UTC"))
        self.assertEqual(len(found), 11)
        for push in found:
            self.assertEqual(push.value["payload"]["imageUrl"], document_2()[push.request.record.offset]["imageUrl"])

    def test_each_field_of_document_5_alone_and_all_together_visible_and_silent(self):
        for settings, flags in ((Settings("UTC"), []), OTHER_SETTINGS):
            self.check(requests_for({"message": each} for each in fields_of_document_5()), settings, *flags)

    def test_any_combination_of_fields(self):
        messages = some_fields_of_document_5(SEED, 1_000)
        self.check(requests_for({"message": each} for each in messages), Settings("UTC"))

    def test_requests_of_all_kinds_in_every_envelope(self):
        found = self.check(generated(SEED, 1_000), Settings("UTC"))
        self.assertGreater(len(found), 700)
        self.assertEqual({push.request.kind for push in found}, {"app", "message"})

    def test_pushes_of_orders(self):
        settings = Settings("Europe/Berlin")
        found = [each for each in order_pushes.generated(self.harness, 800, settings) if each.device.platform == "apns"]
        self.assertGreater(len(found), 200)
        self.assertTrue(any(each.notification.order_type for each in found))
        for record, notification, device in found:
            custom = {"default": notification.default_string}
            if notification.order_type:
                custom |= {"order_type": notification.order_type, "order_id": notification.order_id}
            config = ApnsConfig(
                topic=device.app,
                push_type=ApnsPushType.BACKGROUND,
                priority=ApnsPriority.BASED_ON_POWER,
                expiration=notification.event_time // 1000 + settings.ttl_seconds,
                collapse_id=notification.message_id,
            )
            with self.subTest(seed=SEED, source=record.source):
                value = json.loads(record.value)
                self.assertEqual(comparable(value["payload"]), as_json(Payload(content_available=True, custom=custom)))
                self.assertEqual(value["headers"], headers_of(config))

    def test_whatever_was_asked_for_makes_a_difference(self):
        """So that the comparisons above say something of each field. Only the icon does not: APNs has none."""
        of_message = self.check(requests_for([{"message": FIELDS}]), Settings("UTC"))[0]
        of_app = self.check(requests_for([{"app": document_2()[5]}]), Settings("UTC"))[0]
        changes = dict.fromkeys(("title", "body", "title_key", "body_key", "sound", "category"), "another")
        changes |= {"title_arguments": ["x"], "body_arguments": [], "badge": 0, "silent": True, "custom": {"k": "w"}}
        cases = [(of_message, name, value) for name, value in changes.items()] + [(of_app, "image", "https://example.com")]
        for push, name, value in cases:
            with self.subTest(name):
                content = dataclasses.replace(push.request.content, **{name: value})
                request = dataclasses.replace(push.request, content=content)
                self.assertNotEqual(comparable(push.value["payload"]), payload(request))
        for name, value in {"collapse_key": "x", "priority": "normal", "expiry": 0}.items():
            with self.subTest(name):
                request = dataclasses.replace(of_message.request, **{name: value})
                self.assertNotEqual(of_message.value["headers"], headers(request, of_message.device))


if __name__ == "__main__":
    unittest.main()
