"""The alert rules and the dashboard: they ask for metrics that docs/metrics.md has, and each alert has a test in which it fires
and one in which it does not."""

import json
import re
import unittest

import yaml
from program import ROOT

OPERATIONS = ROOT / "docs" / "operations"
RULES = [rule for group in yaml.safe_load((OPERATIONS / "alerts.yml").read_text())["groups"] for rule in group["rules"]]
TESTS = yaml.safe_load((OPERATIONS / "alerts.test.yml").read_text())["tests"]
BOARD = json.loads((OPERATIONS / "grafana-dashboard.json").read_text())
PANELS = BOARD["panels"]
NAME = r"\b(?:carillon|process)_[a-z_]+\b"


def metrics(expression):
    """The metrics that an expression asks for, without what Prometheus adds to a histogram's name."""
    return {re.sub(r"_(?:bucket|sum|count)$", "", name) for name in re.findall(NAME, expression)}


def documented():
    """The metrics in the first cells of the tables of docs/metrics.md."""
    rows = re.findall(r"^\| (`[^|]*) \|", (ROOT / "docs/metrics.md").read_text(), re.M)
    return {name for row in rows for name in re.findall(NAME, row)}


class Monitoring(unittest.TestCase):
    def test_alerts_and_dashboard_ask_for_documented_metrics(self):
        expressions = [rule["expr"] for rule in RULES]
        expressions += [target["expr"] for panel in PANELS for target in panel.get("targets", [])]
        asked = set().union(*map(metrics, expressions))
        self.assertEqual(asked - documented(), set())
        self.assertGreater(len(asked), 40)

    def test_every_metric_of_the_sender_of_broadcasts_and_of_the_api_is_in_the_dashboard(self):
        expressions = " ".join(target["expr"] for panel in PANELS for target in panel.get("targets", []))
        wanted = {name for name in documented() if name.startswith(("carillon_delivery_", "carillon_broadcast_", "carillon_api_"))}
        self.assertEqual(wanted - metrics(expressions), set())
        self.assertGreater(len(wanted), 20)

    def test_each_role_has_its_own_row_with_the_same_panels(self):
        (variable,) = [each for each in BOARD["templating"]["list"] if each["name"] == "role"]
        self.assertIn("carillon_ready", variable["definition"])
        start, end = [number for number, panel in enumerate(PANELS) if panel["type"] == "row"][:2]
        self.assertEqual(PANELS[start]["repeat"], "role")
        for panel in PANELS[start + 1 : end]:
            expressions = [target["expr"] for target in panel["targets"]]
            for expression in expressions:
                self.assertIn('role=~"$role"', expression, panel["title"])
            one = set(re.findall(r'role="(\w+)"', " ".join(expressions)))
            # Of all roles alike; or each in its own words, the lag of two of them in the same.
            self.assertIn(one, [set(), {"deliver"}, {"pipeline", "broadcasts", "deliver"}], panel["title"])

    def test_every_alert_has_a_test_that_fires_and_one_that_does_not(self):
        checks = [check for test in TESTS for check in test["alert_rule_test"]]
        fires = {check["alertname"] for check in checks if check.get("exp_alerts")}
        silent = {check["alertname"] for check in checks if not check.get("exp_alerts")}
        names = {rule["alert"] for rule in RULES}
        self.assertEqual(names - fires, set())
        self.assertEqual(names - silent, set())

    def test_every_alert_of_the_sender_has_a_heading(self):
        headings = set(re.findall(r"^### (CarillonDelivery\w+)", (ROOT / "docs/troubleshooting.md").read_text(), re.M))
        self.assertEqual(headings, {rule["alert"] for rule in RULES if rule["alert"].startswith("CarillonDelivery")})

    def test_panels_do_not_overlap(self):
        places = {}
        for panel in PANELS:
            grid = panel["gridPos"]
            for x in range(grid["x"], grid["x"] + grid["w"]):
                for y in range(grid["y"], grid["y"] + grid["h"]):
                    self.assertIsNone(places.get((x, y)), panel["title"])
                    places[x, y] = panel["title"]
        self.assertEqual(len({panel["id"] for panel in PANELS}), len(PANELS))
        self.assertLessEqual(max(x for x, _ in places), 23)


if __name__ == "__main__":
    unittest.main()
