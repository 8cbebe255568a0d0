"""Grouped records are expanded to what single ones are, and each rule of their form is looked at."""

import dataclasses
import json
import unittest

from model.grouped import sent, single_value, split
from model.output import compact
from model.partitions import murmur2_partition
from model.records import Record
from model.report import Report
from model.verify import Run, verify
from tests.sample_run import MAX_TABLE_AGE_MS, PARTITIONS, SETTINGS, SampleRun, journal_records

TOKEN = {"fcm": "token", "apns": "device_token"}


def grouped(pushes, size=3):
    """The pushes of each notification to a place as grouped records, as `carillon run` cuts them or otherwise."""
    found = {}
    for key, value, headers in pushes:
        message, headers = json.loads(value), dict(headers)
        platform, inner = headers["platform"].decode(), message.get("message", message)
        token = inner.pop(TOKEN[platform])
        shared = compact(message)[1:]
        place = json.loads(json.loads(compact(inner.get("data", inner.get("payload")))).get("default"))["data"]["place_id"]
        found.setdefault((place, shared, tuple(headers.items())), []).append({"hash": key.decode(), "token": token})
    for (place, shared, headers), devices in found.items():
        for start in range(0, len(devices), size):
            part = devices[start : start + size]
            fixed = [each for each in headers if each[0] not in ("x-degraded", "traceparent")]
            own = [each for each in headers if each[0] in ("x-degraded", "traceparent")]
            yield (
                f"place/{place}".encode(),
                ('{"devices":' + compact(part) + "," + shared).encode(),
                (*fixed, ("devices", str(len(part)).encode()), *own),
            )


class Expansion(unittest.TestCase):
    def test_the_value_for_one_device_is_spliced(self):
        token = 'a"b\\é'
        value = '{"devices":' + compact([{"hash": "00", "token": token}]) + ',"message":{"data":{}}}'
        devices, shared = split(value)
        self.assertEqual(devices, [{"hash": "00", "token": token}])
        self.assertEqual(single_value("fcm", token, shared), compact({"message": {"token": token, "data": {}}}))
        shared = ',"environment":"production"}'
        self.assertEqual(single_value("apns", "0a", shared), compact({"device_token": "0a", "environment": "production"}))


class GroupedVerifier(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sample = SampleRun()

    def setUp(self):
        self.groups = list(grouped(self.sample.dispatch))
        # One with several devices.
        self.at = next(at for at, each in enumerate(self.groups) if dict(each[2])["devices"] == b"3")

    def records(self):
        return [
            Record("dispatch", murmur2_partition(key, PARTITIONS), at, 0, key, value, headers)
            for at, (key, value, headers) in enumerate(self.groups)
        ]

    def kinds(self, grouping="audience"):
        report = Report()
        pushes = list(sent(self.records(), grouping, report))
        return {kind for kind, _ in report.differences}, pushes

    def change(self, key=lambda key: key, value=lambda value: value, headers=lambda headers: headers):
        old = self.groups[self.at]
        self.groups[self.at] = key(old[0]), value(old[1]), headers(old[2])

    def test_the_right_records_give_the_single_ones(self):
        kinds, pushes = self.kinds()
        self.assertEqual(kinds, set())
        single = sorted((key, value, sorted(headers)) for key, value, headers in self.sample.dispatch)
        self.assertEqual(sorted((each.record.key, each.record.value, sorted(each.record.headers)) for each in pushes), single)
        self.assertGreater(len(single), len(self.groups))

    def test_the_setting_says_which_form_there_is(self):
        self.assertEqual(self.kinds("device")[0], {"wrong form"})
        self.groups[self.at] = self.sample.dispatch[0]
        self.assertEqual(self.kinds()[0], {"wrong form"})
        key, value, headers = self.sample.dispatch[0]
        self.groups[self.at] = key, value, (*headers, ("replay", b"r1"))
        self.assertEqual(self.kinds()[0], set())

    def test_each_rule_of_the_form(self):
        def first(value, change):
            devices, shared = split(value.decode())
            change(devices)
            return ('{"devices":' + compact(devices) + shared).encode()

        spoiled = {
            "another number": {"headers": lambda all: tuple((n, b"2" if n == "devices" else v) for n, v in all)},
            "no header": {"headers": lambda all: (("devices", b"3"), *(each for each in all if each[0] != "devices"))},
            "a device twice": {"value": lambda value: first(value, lambda devices: devices.__setitem__(1, devices[0]))},
            "another hash": {"value": lambda value: first(value, lambda devices: devices[0].update(hash="0" * 64))},
            "another member": {"value": lambda value: first(value, lambda devices: devices[0].update(app="a"))},
            "spaces": {"value": lambda value: value.replace(b'"},{"', b'"}, {"', 1)},
            "no list": {"value": lambda value: b"{}"},
        }
        for name, change in spoiled.items():
            with self.subTest(name):
                self.setUp()
                self.change(**change)
                self.assertEqual(self.kinds()[0], {"wrong group"})

    def verified(self, records=None):
        """The kinds of difference that the whole verifier finds."""
        sample = self.sample
        run = Run(
            settings=dataclasses.replace(SETTINGS, grouping="audience"),
            events=sample.records,
            subscriptions=sample.table,
            dispatch=self.records() if records is None else records,
            dead_letters=[Record("dead", 0, at, 0, *each) for at, each in enumerate(sample.letters)],
            journal=journal_records(json.loads(json.dumps(sample.journal + sample.ticks))),
            dispatch_partitions=PARTITIONS,
            starts={("orders.events", partition): 0 for partition in sample.ends},
            ends={("orders.events", partition): end for partition, end in sample.ends.items()},
            max_table_age_ms=MAX_TABLE_AGE_MS,
            timers_until=sample.now,
        )
        return {kind for kind, _ in verify(run).differences}

    def test_the_whole_verifier_reads_groups(self):
        self.assertEqual(self.verified(), set())
        self.change(key=lambda key: key + b"0")
        self.assertEqual(self.verified(), {"wrong key"})
        self.setUp()
        records = self.records()
        records[self.at] = records[self.at]._replace(partition=(records[self.at].partition + 1) % PARTITIONS)
        self.assertEqual(self.verified(records), {"wrong partition"})
        del self.groups[self.at]
        self.assertEqual(self.verified(), {"lost push (I1, I4)"})
