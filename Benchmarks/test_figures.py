"""What is computed from samples, counts and rounds."""

import unittest

from figures import Figures, crossing, figures, latency, median, percentile, ratio
from harness.waiting import Failure


class CrossingTests(unittest.TestCase):
    SAMPLES = ((10.0, 0, 1.0), (11.0, 100, 3.0), (11.5, 100, 3.5), (12.0, 300, 5.0))

    def test_between_two_samples_time_and_cpu_are_interpolated(self):
        self.assertEqual(crossing(self.SAMPLES, 50), (10.5, 2.0))

    def test_a_pause_at_the_count_belongs_to_what_follows(self):
        self.assertEqual(crossing(self.SAMPLES, 100), (11.0, 3.0))

    def test_a_count_that_was_not_reached_fails(self):
        with self.assertRaisesRegex(Failure, "no sample around 301 events"):
            crossing(self.SAMPLES, 301)


class FiguresTests(unittest.TestCase):
    def test_the_start_and_the_end_do_not_count(self):
        # 100 events in the first 10 s, 850 in 1 s, 50 in 10 s.
        samples = [(0.0, 0, 0.0), (10.0, 100, 5.0), (11.0, 950, 5.017), (21.0, 1000, 9.0)]
        found = figures(samples, 1000, 64)
        self.assertAlmostEqual(found.rate, 850)
        self.assertAlmostEqual(found.cpu, 20)
        self.assertEqual(found.peak, 64)

    def test_the_median_is_of_each_column(self):
        rows = [Figures(1, 30, 5), Figures(2, 10, 5), Figures(9, 20, 7)]
        self.assertEqual(median(rows), Figures(2, 20, 5))


class PercentileTests(unittest.TestCase):
    def test_it_is_the_least_value_with_the_share_at_or_below_it(self):
        counts = {30: 1, 10: 98, 20: 1}
        self.assertEqual([percentile(counts, share) for share in (0.5, 0.98, 0.99, 1)], [10, 10, 20, 30])

    def test_of_nothing_there_is_none(self):
        with self.assertRaises(Failure):
            percentile({}, 0.5)

    def test_a_latency_has_the_longest(self):
        self.assertEqual(latency({5: 50, 7: 49, 900: 1}, 0.5), (5, 7, 900, 0.5))


class RatioTests(unittest.TestCase):
    def test_it_is_of_each_round_so_that_a_drift_of_the_machine_does_not_show(self):
        found = ratio([100, 50, 200], [50, 25, 100])
        self.assertEqual(found, (2, 2, 2))

    def test_the_interval_lies_within_the_rounds_and_contains_the_median(self):
        found = ratio([10, 11, 12, 13, 30], [10] * 5)
        self.assertEqual(found.median, 1.2)
        self.assertTrue(1 <= found.low < 1.2 < found.high <= 3, found)
        self.assertEqual(found, ratio([10, 11, 12, 13, 30], [10] * 5))

    def test_rounds_without_a_counterpart_are_an_error(self):
        with self.assertRaises(ValueError):
            ratio([1, 2], [1])


if __name__ == "__main__":
    unittest.main()
