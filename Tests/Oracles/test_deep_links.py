"""Document 3's own `switch`, run by Node, gives the URLs that an app with the library for phones opens."""

import json
import os
import pathlib
import random
import string
import subprocess
import unittest
import urllib.parse

from generator.inputs import compact
from harness.harness import Harness
from harness.rendering import line_of, records_of, render
from harness.seed import seed_of_run
from model.records import Record

JUDGE = pathlib.Path(__file__).resolve().parent / "document-3" / "judge.mjs"
TEMPLATES = pathlib.Path(__file__).resolve().parents[2] / "Examples/document-3.properties"
SEED = seed_of_run()
UNRESERVED = string.ascii_letters + string.digits + "-._~"
DEVICES = {"fcm": "made-up-token", "apns": "0a1b2c3d"}
AUDIENCE, TOPIC = "place/42", "notifications.requests"


def order(order_type, order_id):
    body = {"id": order_id, "place_id": "42", "order_type": order_type}
    return "orders.events", {"event_type": "ORDER_CREATED", "order": body}


def app(order_type, order_id):
    data = {"type": "Generic", "order_type": order_type, "order_id": order_id}
    return TOPIC, {"audience": AUDIENCE, "app": {"title": "42", "body": "b", "data": data}}


def message(order_type, order_id):
    extras = {"order_id": order_id, "order_type": order_type}
    return TOPIC, {"audience": AUDIENCE, "message": {"title": "42", "extras": extras}}


def data_of(record):
    """What the app of the document reads: FCM's data, or what stands beside `aps`."""
    value = json.loads(record.value)
    return value["message"]["data"] if "message" in value else value["payload"]


def judge(lines):
    text = "".join(json.dumps(line) + "\n" for line in lines)
    done = subprocess.run(["node", JUDGE], input=text.encode(), capture_output=True, timeout=120)
    if done.returncode:
        raise AssertionError(f"node: {done.stderr.decode()[-1000:]}")
    return [json.loads(line) for line in done.stdout.decode().split("\n")[:-1]]


def opened(records):
    """The URL that a tap on each push opens in Examples/receiving-app, or None."""
    lines = "".join(line_of(record) + "\n" for record in records)
    shown = subprocess.run(
        [os.environ["RECEIVING_APP"], "--links", TEMPLATES], input=lines.encode(), capture_output=True, check=True, timeout=60
    )
    urls = []
    for line in shown.stdout.decode().splitlines():
        if not line.startswith(" "):
            urls.append(None)
        elif line.strip().startswith("opens "):
            urls[-1] = line.strip().removeprefix("opens ")
    if len(urls) != len(records):
        raise AssertionError(f"{len(records)} pushes, {len(urls)} of them shown")
    return urls


class Document3(unittest.TestCase):
    def setUp(self):
        self.harness, self.chance = Harness(SEED, os.environ), random.Random(f"links {SEED}")

    def links(self, given):
        """Each of these types and ids as an order, an app notification and a message, on both platforms: with the push's data and
        the URL that a tap opens."""
        asked = [(pair, make(*pair)) for pair in given for make in (order, app, message)]
        records = [Record(topic, 0, at, 1, b"k", compact(value)) for at, (_, (topic, value)) in enumerate(asked)]
        members = {"audience": AUDIENCE, "app": "com.example.shop", "environment": "production"}
        table = [compact(members | {"platform": name, "token": token}) for name, token in DEVICES.items()]
        written = records_of(render(self.harness, records, table, "--set", f"topic.requests={TOPIC}"))
        self.assertEqual(len(written), len(asked) * len(DEVICES))
        offsets = [int(dict(record.headers)["source"].decode().rpartition("/")[2]) for record in written]
        return [(asked[at][0], data_of(record), url) for at, record, url in zip(offsets, written, opened(written))]

    def ids(self, alphabet, count):
        return ["".join(self.chance.choices(alphabet, k=self.chance.randrange(1, 40))) for _ in range(count)]

    def test_the_URL_is_the_documents_for_ids_without_reserved_characters(self):
        kinds = ("food", "d2d", "Food", "D2D", "FOOD")
        given = [(kind, each) for each in ["12345", "67890", *self.ids(UNRESERVED, 100)] for kind in kinds]
        links = self.links(given)
        as_asked = judge({"order_type": kind, "order_id": each, "url": url} for (kind, each), _, url in links)
        as_sent = judge({"order_type": data["order_type"], "order_id": data["order_id"], "url": url} for _, data, url in links)
        for (pair, _, url), asked, sent in zip(links, as_asked, as_sent):
            with self.subTest(seed=SEED, pair=pair):
                self.assertEqual([asked["url"], sent["url"]], [url, url])
                self.assertEqual(asked["found"], pair[1])

    def test_an_id_with_reserved_characters_is_found_whole_in_the_URL(self):
        """Where the document's own URL would say something else: `a&b=c` there is the order `a`."""
        odd = ["a&b=c", "1#2", "a+b", "50%", "ä/ö", "a b", "😀", '"', "?x=1&order_id=2", *self.ids(string.printable[:95], 50)]
        given = [("food", each.strip()) for each in odd if each.strip()]
        links = self.links(given)
        verdicts = judge({"order_type": "food", "order_id": each, "url": url} for (_, each), _, url in links)
        for ((_, each), _, url), verdict in zip(links, verdicts):
            with self.subTest(seed=SEED, id=each):
                self.assertEqual(verdict["found"], each)
                self.assertEqual(url, "https://mikmik.site/track_order.php?order_id=" + urllib.parse.quote(each, safe="-._~"))

    def test_a_type_without_a_case_opens_nothing(self):
        links = self.links([("pizza", "12345"), ("foods", "1"), ("d2", "1")])
        verdicts = judge({"order_type": kind, "order_id": each, "url": url} for (kind, each), _, url in links)
        self.assertEqual(len(verdicts), 18)
        self.assertEqual([(url, verdict["url"]) for (_, _, url), verdict in zip(links, verdicts)], [(None, None)] * 18)


if __name__ == "__main__":
    unittest.main()
