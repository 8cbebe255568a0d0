import unittest

from model.partitions import murmur2_partition


class Partitions(unittest.TestCase):
    def test_murmur2_is_javas(self):
        # From Apache Kafka's own UtilsTest.
        for key, expected in (
            (b"21", -973932308),
            (b"foobar", -790332482),
            (b"a-little-bit-long-string", -985981536),
            (b"a-little-bit-longer-string", -1486304829),
            (b"abc", 479470107),
        ):
            self.assertEqual(murmur2_partition(key, 1 << 31), expected & 0x7FFFFFFF)
