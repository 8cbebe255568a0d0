"""What is computed of the HTTP API's runs."""

import unittest

from api import Figures, figures, latency, ratios, targets
from harness.waiting import Failure


def log(rate, seconds, took=lambda number: 1_000, status=202):
    return "\n".join(f"{number * 1_000_000 // rate}\t{status}\t{took(number)}" for number in range(rate * seconds))


class FiguresTests(unittest.TestCase):
    def test_a_run_of_wrk_has_its_rate_and_the_servers_cpu_for_each_request(self):
        line = '{"requests":1000,"seconds":2.0,"errors":0,"p50":1.5,"p99":4.0}'
        self.assertEqual(figures(line, 0.05, 40), Figures(500, 50, 1.5, 4, 40))

    def test_one_answer_that_is_an_error_fails_the_run_and_so_does_none(self):
        for wrong in ('{"requests":1000,"seconds":2.0,"errors":1}', '{"requests":0,"seconds":2.0,"errors":0}'):
            with self.assertRaisesRegex(Failure, "wrk"):
                figures(wrong, 0.05, 40)


class LatencyTests(unittest.TestCase):
    def test_the_warm_up_does_not_count(self):
        found = latency(log(100, 3, lambda number: 90_000 if number < 100 else 1_000 + number), 1, 100)
        self.assertAlmostEqual(found.p50, 1.199)
        self.assertAlmostEqual(found.p99, 1.297)
        self.assertAlmostEqual(found.most, 1.299)
        self.assertAlmostEqual(found.rate, 100, delta=1)

    def test_an_answer_that_is_not_202_fails_the_run(self):
        with self.assertRaisesRegex(Failure, "100 answers of 100 are not 202, such as 503"):
            latency(log(100, 1, status=503), 0, 100)

    def test_requests_that_were_not_sent_in_time_fail_the_run(self):
        with self.assertRaisesRegex(Failure, "wanted 200"):
            latency(log(100, 3), 1, 200)

    def test_a_run_as_short_as_its_warm_up_fails(self):
        with self.assertRaisesRegex(Failure, "nothing"):
            latency(log(100, 1), 1, 100)


class TargetTests(unittest.TestCase):
    def row(self, rate):
        return Figures(rate, 40, 1, 2, 50)

    def test_the_ratios_are_of_each_round_and_decide_whether_the_targets_are_met(self):
        rows = {
            "carillon 64": [self.row(100), self.row(200)],
            "carillon 512": [self.row(95), self.row(190)],
            "direct 64": [self.row(250), self.row(500)],
            "nginx 64": [self.row(1_000), self.row(2_000)],
        }
        found = {"ratios": ratios(rows), "rate": 1_000, "latency": {"p50": 7.5, "p99": 26}}
        self.assertEqual(found["ratios"]["carillon 64 to direct 64"]["rate"], [0.4, 0.4, 0.4])
        self.assertEqual([each.is_met for each in targets(found)], [True, False, True, False])


if __name__ == "__main__":
    unittest.main()
