"""The chart of the peers: what it says, to whom, and on which pages."""

import re
import unittest
import xml.etree.ElementTree as ElementTree

from chart import LONGEST, draw, speed

SVG = "{http://www.w3.org/2000/svg}"
PEERS = (("limit", 60_000), ("streams", 15_000), ("python", 30_000), ("carillon", 45_000))


def results():
    return {
        "command": "Scripts/bench --peers --json <here>",
        "machine": {"cpus": 2},
        "kafka": "4.3.0",
        "share": 0.5,
        "events": {"bytes": 1000, "partitions": 24},
        "throughput": [
            {"program": name, "workers": workers, "rate": rate * workers, "cpu": 1e6 / rate, "peak": 100}
            for workers in (1, 2)
            for name, rate in PEERS
        ],
        "latency": [
            {"program": name, "interval_ms": 50, "rate": at, "p50": 40, "p99": 80, "most": 100}
            for name, rate in PEERS
            for at in (1000, rate // 2)
        ],
    }


class ChartTests(unittest.TestCase):
    def setUp(self):
        self.text = draw(results())
        self.root = ElementTree.fromstring(self.text)

    def bars(self, name):
        return [float(each.get("width")) for each in self.root.iter(f"{SVG}rect") if each.get("class") == name]

    def test_bars_are_as_long_as_the_values(self):
        self.assertEqual(self.bars("limit")[0], LONGEST)
        self.assertAlmostEqual(self.bars("carillon")[0], LONGEST * 45 / 60, places=0)
        self.assertAlmostEqual(self.bars("streams")[0], LONGEST / 4, places=0)

    def test_every_number_of_workers_has_its_panels(self):
        # Events, CPU and memory, each with one and with two workers, and the latency.
        self.assertEqual(len(self.bars("python")), 7)

    def test_the_short_one_has_only_the_events_a_second(self):
        root = ElementTree.fromstring(draw(results(), speed))
        headings = [each.text for each in root.iter(f"{SVG}text") if each.get("class") == "head"]
        self.assertEqual(headings, [f"Events a second, {of}; three pushes each" for of in ("1 worker", "2 workers")])

    def test_only_a_rate_that_all_have_is_compared(self):
        headings = [each.text for each in self.root.iter(f"{SVG}text") if each.get("class") == "head"]
        self.assertEqual([each for each in headings if "append" in each], [headings[-1]])
        self.assertIn("at 1,000 events a second", headings[-1])

    def test_it_says_in_words_what_it_shows(self):
        self.assertEqual(self.root.get("role"), "img")
        named = self.root.get("aria-labelledby").split()
        texts = {each.get("id"): each.text for each in self.root if each.get("id")}
        self.assertEqual(sorted(texts), sorted(named))
        self.assertIn("Carillon 45,000", texts["desc"])
        self.assertIn("Kafka Streams, 50 ms 40 ms, 80 ms", texts["desc"])

    def test_each_colour_has_one_for_dark_pages_and_none_is_a_background(self):
        light, dark = self.root.find(f"{SVG}style").text.split("@media (prefers-color-scheme: dark)")
        for name in ("text", *(f".{name}" for name, _ in PEERS)):
            found = [re.search(rf"{re.escape(name)}(?:, \.[\w-]+)? {{[^}}]*fill: (#\w+)", part)[1] for part in (light, dark)]
            self.assertNotEqual(*found)
        self.assertNotIn("background", self.text)

    def test_the_latency_has_the_order_of_the_other_panels(self):
        labels = [each.text for each in self.root.iter(f"{SVG}text") if each.text.endswith(", 50 ms")]
        self.assertEqual(labels, [f"{name}, 50 ms" for name in ("limit", "Carillon", "Kafka Streams", "confluent-kafka")])

    def test_it_names_the_command_that_repeats_it(self):
        texts = [each.text for each in self.root.iter(f"{SVG}text")]
        self.assertIn("Scripts/bench --peers --json <here>", texts)


if __name__ == "__main__":
    unittest.main()
