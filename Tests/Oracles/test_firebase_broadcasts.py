"""Google's own library writes the same FCM messages for broadcasts. JSON Schema accepts all of them, and their records."""

import datetime
import json
import os
import random
import unittest
import warnings

from firebase_admin import messaging
from firebase_admin._messaging_encoder import MessageEncoder
from requested import comparable
from schemas import SCHEMAS, complaint, complaints

from generator.inputs import compact
from harness.harness import Harness
from harness.rendering import records_of, render
from harness.seed import seed_of_run
from model.messages import message_id
from model.records import Record

TOPIC = "notifications.broadcasts"
SEED = seed_of_run()
BASE_MS = 1_751_875_337_000
LANGUAGES = ("en", "hi", "de", "de-AT", "pt_BR")
LOCALES = {"made-up-token-1": "hi-IN", "made-up-token-2": "DE_at", "made-up-token-3": "sw", "made-up-token-4": None}
TEXTS = ("Welcome to Sunbird!", 'a "quoted"\ntext', "Ω😀 / \\", "x")


def documents():
    """Document 4's own payloads."""
    return SCHEMAS[f"{TOPIC}.value"]["examples"][:2]


def generated(seed, count):
    chance = random.Random(f"broadcasts {seed}")
    for at in range(count):
        members = {"notificationid": f"b-{at}", "expiry": f"{chance.randrange(2_419_200_000)}millis"}
        if chance.random() < 0.5:
            members["published_at"] = BASE_MS + chance.randrange(1_000_000)
        if chance.random() < 0.3:
            yield members | {"actiontype": "non-display", "notificationtype": "disable-feature", "data": chance.choice(TEXTS)}
            continue
        members |= {"actiontype": "display", "notificationtype": chance.choice(["general", "festive", "downtime", "news"])}
        members["type"] = chance.choice(["cancellable", "non-cancellable", None])
        if chance.random() < 0.5:
            members["poster"] = 'https://example.com/p.png?a="b"'
        languages = chance.sample(LANGUAGES, chance.randint(1, 4))
        texts = [{"language": each, "title": chance.choice(TEXTS), "msg": chance.choice(TEXTS)} for each in languages]
        yield members | {"fields": texts}


def normal(tag):
    return tag.lower().replace("_", "-")


def text_for(locale, fields):
    """The exact language, that of the primary subtag, or the first."""
    wanted = normal(locale or "")
    by_tag = {normal(each["language"]): each for each in fields}
    return by_tag.get(wanted) or by_tag.get(wanted.split("-")[0]) or fields[0]


def encoded(broadcast, record, token, locale, of_device):
    """The message for one device, from the broadcast alone."""
    published = broadcast.get("published_at", record.timestamp)
    lifetime = int(broadcast["expiry"].removesuffix("millis"))
    kind = broadcast["actiontype"]
    shown = text_for(locale, broadcast["fields"]) if kind == "display" else None
    poster = broadcast.get("poster")
    identity = message_id("broadcast", [broadcast["notificationid"], str(published)], kind, "", published)
    data = {name: broadcast[name] for name in ("actiontype", "notificationtype", "notificationid", "expiry")}
    data |= {name: broadcast[name] for name in ("channel", "poster", "data") if broadcast.get(name) is not None}
    data |= {"published_at": str(published), "message_id": identity}
    if shown:
        if data["notificationtype"] not in ("general", "festive", "downtime"):
            data["notificationtype"] = "others"
        data["type"] = broadcast.get("type") or "cancellable"
        fields = [shown] if of_device else broadcast["fields"]
        data["fields"] = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    notification, alert = None, None
    if shown and of_device:
        notification = messaging.Notification(shown["title"], shown["msg"], poster)
    elif shown:
        alert = messaging.ApsAlert(title=shown["title"], body=shown["msg"])
    payload = None
    if alert or poster or not shown:
        payload = messaging.APNSPayload(
            messaging.Aps(alert=alert, mutable_content=poster is not None, content_available=None if shown else True)
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Message.token, in favour of Message.fid.
        message = messaging.Message(
            token=token,
            data=data,
            notification=notification,
            android=messaging.AndroidConfig(
                priority="high" if shown else "normal",
                ttl=datetime.timedelta(seconds=lifetime // 1000),
                notification=messaging.AndroidNotification(tag=identity) if notification else None,
            ),
            apns=messaging.APNSConfig(
                headers={
                    "apns-push-type": "alert" if shown else "background",
                    "apns-priority": "10" if shown else "5",
                    "apns-expiration": str((published + lifetime) // 1000),
                    "apns-collapse-id": identity,
                },
                payload=payload,
                fcm_options=messaging.APNSFCMOptions(image=poster) if poster else None,
            ),
        )
    return json.loads(json.dumps(message, cls=MessageEncoder))


class FirebaseAdmin(unittest.TestCase):
    def setUp(self):
        self.harness = Harness(SEED, os.environ)

    def check(self, broadcasts, language):
        """Compares every message for an FCM device; how many there were."""
        broadcasts = list(broadcasts)
        records = [
            Record(TOPIC, 0, at, BASE_MS, each["notificationid"].encode(), compact(each)) for at, each in enumerate(broadcasts)
        ]
        channels = sorted({each.get("channel") or "General" for each in broadcasts})
        members = {"app": "com.example.shop", "environment": "production"}
        table = [
            compact({"audience": f"channel/{channel}", "token": token, "platform": platform, "locale": locale} | members)
            for channel in channels
            for platform, devices in (("fcm", LOCALES), ("apns", {"0a1b2c3d": "de"}))
            for token, locale in devices.items()
        ]
        written = records_of(
            render(self.harness, records, table, "--set", f"topic.broadcasts={TOPIC}", "--set", f"broadcasts.language={language}")
        )
        self.assertEqual(len(written), len(broadcasts) * (len(LOCALES) + 1))
        for record in written:
            headers = dict(record.headers)
            at = int(headers["source"].decode().rpartition("/")[2])
            with self.subTest(seed=SEED, language=language, broadcast=broadcasts[at]):
                self.assertIsNone(complaint(f"{TOPIC}.value", broadcasts[at]))
                self.assertEqual(complaints(record, "notifications.dispatch"), [])
                value = json.loads(record.value)
                if headers["platform"] == b"fcm":
                    token = value["message"]["token"]
                    wanted = encoded(broadcasts[at], records[at], token, LOCALES[token], language == "device")
                    self.assertEqual(comparable(value), comparable({"message": wanted}))

    def test_the_documents_own_payloads(self):
        for language in ("all", "device"):
            # Both have the same id, so that they are no broadcasts of one log.
            for each in documents():
                self.check([each], language)

    def test_broadcasts_of_both_kinds(self):
        for language in ("all", "device"):
            self.check(generated(SEED, 300), language)


if __name__ == "__main__":
    unittest.main()
