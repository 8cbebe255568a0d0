"""The tables of the page about sizing, and the command that it names."""

import json
import pathlib
import unittest

from chart import draw
from results import repeating
from tables import latency_table, throughput_table
from test_chart import results

DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"


class CommandTests(unittest.TestCase):
    def test_it_measures_the_same_wherever_the_results_are_written(self):
        arguments = ["--runs", "3", "--json", "here.json", "--chart", "here.svg", "--workers", "1"]
        self.assertEqual(repeating("--peers", arguments), "Scripts/bench --peers --runs 3 --workers 1")
        self.assertEqual(repeating("", ["--events", "5"]), "Scripts/bench --events 5")


class TableTests(unittest.TestCase):
    def setUp(self):
        self.results = results() | {"ratios": [{"to": "streams", "workers": 1, "rate": [3, 2.9, 3.111], "cpu": [0.5, 0.4, 0.6]}]}

    def test_a_program_has_its_medians_and_carillons_ratio_to_them(self):
        lines = list(throughput_table(self.results))
        self.assertIn(
            "| Kafka Streams; 1 worker | 15,000 | 45,000 | 66.7 | 100 | 3.00 (2.90 to 3.11) | 0.50 (0.40 to 0.60) |", lines
        )
        self.assertIn("| Carillon; 2 workers | 90,000 | 270,000 | 22.2 | 100 | | |", lines)

    def test_latency_has_the_shared_rates_and_each_programs_own(self):
        lines = list(latency_table(self.results))
        self.assertEqual(lines[0], "| | 1,000/s, 50 ms | 50 % of its most, 50 ms |")
        self.assertIn("| Carillon | 40/80/100 | 40/80/100, at 22,500/s |", lines)

    def test_the_page_and_its_chart_show_the_run_beside_them(self):
        run = json.loads((DOCS / "peers.json").read_text())
        page = (DOCS / "sizing.md").read_text()
        self.assertIn("\n".join(throughput_table(run)), page)
        self.assertIn("\n".join(latency_table(run)), page)
        self.assertEqual((DOCS / "peers.svg").read_text(), draw(run))


if __name__ == "__main__":
    unittest.main()
