"""Debezium reads PostgreSQL's log into orders.events: what was committed is pushed, what was rolled back never was."""

import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import tempfile
import unittest
import uuid

from generator.inputs import subscription
from harness.brokers import free_port
from harness.harness import Harness
from harness.seed import seed_of_run
from harness.waiting import Failure, wait_for
from model.messages import message_id

SEED = seed_of_run()
PLACE = "north"

TABLE = "create table {table}(id uuid primary key, aggregatetype text, aggregateid text, type text, payload jsonb);"

# The outbox event router as its documentation sets it up, with the type as a header. What it makes of the payload, JSON or (by
# default) a string of JSON, is a matter of taste: each table has a connector of its own. Rows come from the log alone.
TABLES = {"outbox": "true", "outbox_of_text": "false"}
CONNECTOR = """\
name={table}
connector.class=io.debezium.connector.postgresql.PostgresConnector
database.hostname=127.0.0.1
database.port={port}
database.user={user}
database.password=none
database.dbname=postgres
topic.prefix={table}
plugin.name=pgoutput
slot.name={table}
publication.name={table}
publication.autocreate.mode=filtered
snapshot.mode=no_data
table.include.list=public.{table}
transforms=outbox
transforms.outbox.type=io.debezium.transforms.outbox.EventRouter
transforms.outbox.route.topic.replacement={topic}
transforms.outbox.table.expand.json.payload={expand}
transforms.outbox.table.fields.additional.placement=type:header:eventType
"""

WORKER = """\
bootstrap.servers={bootstrap}
key.converter=org.apache.kafka.connect.storage.StringConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
value.converter.schemas.enable=false
offset.storage.file.filename={folder}/connect-offsets
offset.flush.interval.ms=1000
plugin.path={plugins}
plugin.discovery=service_load
listeners=http://127.0.0.1:{port}
"""


class PostgreSQL:
    """A server with its own data folder and port; it refuses to run as root, so root hands it to the user postgres."""

    def __init__(self, folder):
        self.folder, self.port = pathlib.Path(folder), free_port()
        self.user = "postgres"
        self.tools = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))[-1]
        self.folder.mkdir()
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
        data = self.folder / "data"
        self.run("initdb", "-D", data, "-U", self.user, "--auth", "trust", "--no-sync", "-E", "UTF8", "--locale", "C.UTF-8")
        self.run(
            "pg_ctl",
            "start",
            "-w",
            "-D",
            data,
            "-l",
            self.folder / "log",
            "-o",
            f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c wal_level=logical -c fsync=off",
        )

    def run(self, tool, *arguments, input=None):
        as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
        # pg_ctl's server keeps its standard output: a pipe of ours would never end.
        with tempfile.TemporaryFile() as output:
            done = subprocess.run(
                [*as_user, self.tools / tool, *map(str, arguments)],
                input=input,
                stdout=output,
                stderr=output,
                timeout=60,
                cwd=self.folder,
            )
            output.seek(0)
            said = output.read().decode(errors="replace")
        if done.returncode:
            raise Failure(f"{tool} ended with {done.returncode}: {said[-500:]}")
        return said

    def execute(self, script):
        """Runs statements by psql, each on its own but for what they put into a transaction; what they print."""
        return self.run(
            "psql",
            "-X",
            "-q",
            "-t",
            "-A",
            "-v",
            "ON_ERROR_STOP=1",
            "-h",
            "127.0.0.1",
            "-p",
            self.port,
            "-U",
            self.user,
            "-f",
            "-",
            "postgres",
            input=script.encode(),
        )

    @property
    def followers(self):
        """How many read the log, each by a replication slot."""
        return self.execute("select active from pg_replication_slots;").split().count("t")

    def stop(self):
        self.run("pg_ctl", "stop", "-D", self.folder / "data", "-m", "immediate")


def insert(table, identity, kind, order, **more):
    payload = json.dumps({"order": order, "occurred_at": "2026-03-01T10:00:00Z", **more}, ensure_ascii=False).replace("'", "''")
    return f"insert into {table} values ('{identity}', 'order', '{order['id']}', '{kind}', '{payload}');"


class Debezium(unittest.TestCase):
    def setUp(self):
        harness = Harness(SEED, os.environ)
        self.addCleanup(harness.close)
        self.world = harness.make_world("debezium", partitions=3, places=2, crowd=0)
        self.world.subscriptions = [
            subscription(PLACE, f"made-up-token-of-the-{name}", environment="production") for name in ("counter", "phone", "tablet")
        ]
        self.world.create_topics()
        # PostgreSQL's folder lies outside of the world's, which no other user may enter.
        folder = pathlib.Path(tempfile.mkdtemp(prefix="carillon-debezium."))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        folder.chmod(0o755)
        self.database = PostgreSQL(folder / "postgresql")
        self.addCleanup(self.database.stop)
        self.database.execute("".join(TABLE.format(table=table) for table in TABLES))
        self.folder = folder

    def connect(self):
        """Kafka Connect with the connectors, until they follow the log."""
        topic, plugins = self.world.topics["events"], self.folder / "plugins"
        plugins.mkdir()
        (plugins / "debezium").symlink_to(pathlib.Path(os.environ["DEBEZIUM_HOME"]).resolve())
        connectors = []
        for table, expand in TABLES.items():
            connectors.append(self.folder / f"{table}.properties")
            connectors[-1].write_text(
                CONNECTOR.format(port=self.database.port, user=self.database.user, topic=topic, table=table, expand=expand)
            )
        worker = self.folder / "worker.properties"
        worker.write_text(
            WORKER.format(bootstrap=self.world.cluster.bootstrap, folder=self.folder, plugins=plugins, port=free_port())
        )
        log = self.folder / "connect.log"
        environment = os.environ | {
            "LOG_DIR": str(self.folder / "logs"),
            "KAFKA_HEAP_OPTS": "-Xms64m -Xmx256m",
            "KAFKA_JVM_PERFORMANCE_OPTS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto",
        }
        with open(log, "wb") as out:
            self.process = subprocess.Popen(
                [pathlib.Path(os.environ["KAFKA_HOME"]) / "bin" / "connect-standalone.sh", worker, *connectors],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=environment,
                start_new_session=True,
            )
        self.addCleanup(self.stop_connect)

        def follows():
            if self.process.poll() is not None:
                raise Failure("Kafka Connect ended by itself")
            return self.database.followers == len(TABLES)

        try:
            wait_for("Debezium follows the log", follows, 300)
        except Failure as failure:
            raise Failure(f"{failure}; Kafka Connect's last lines: {log.read_text(errors='replace')[-1500:]}") from None

    def stop_connect(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def test_a_committed_row_becomes_a_push_for_each_device_and_a_rolled_back_one_none(self):
        daemon = self.world.daemon("a").start()
        self.connect()
        chance = random.Random(SEED)
        ids = [str(uuid.UUID(int=chance.getrandbits(128), version=4)) for _ in range(6)]
        order = {
            "id": "o-1",
            "place_id": PLACE,
            "order_number": 'A’1 "ü"',
            "status": "pending",
            "shipping_info": {"slot": {"date": "2026-03-02", "start_time": "14:00", "end_time": "16:00"}},
        }
        first, second = TABLES
        self.database.execute(f"""
            begin; {insert(first, ids[0], "ORDER_CREATED", order)} commit;
            begin; {insert(first, ids[1], "ORDER_CREATED", order | {"id": "o-2"})} rollback;
            begin; {insert(second, ids[2], "ORDER_CREATED", order | {"id": "o-3"})} rollback;
            begin; {insert(first, ids[3], "ORDER_CREATED", order | {"id": "o-4"})} savepoint s;
                   {insert(first, ids[4], "ORDER_STATUS_CHANGED", order | {"id": "o-4"}, new_status="picked")}
                   rollback to s; commit;
            begin; {insert(second, ids[5], "ORDER_CREATED", order | {"id": "o-6"})} commit;
        """)
        # A connector follows the order of commits: had it sent what was rolled back, that would stand before its last row.
        committed = [(ids[0], "o-1"), (ids[3], "o-4"), (ids[5], "o-6")]
        wait_for("the committed rows are on orders.events", lambda: sum(self.world.ends.values()) >= len(committed), 120)
        self.world.wait_until_done(120)
        daemon.stop()

        events = self.world.cluster.read(self.world.topics["events"])
        self.assertEqual(sorted((dict(each.headers)["id"].decode(), each.key.decode()) for each in events), sorted(committed))
        self.assertEqual(sum(each.value.startswith(b'"') for each in events), 1, "one of the tables gives strings")
        self.assertEqual(self.world.verify().differences, [])
        pushes = self.world.cluster.read(self.world.topics["dispatch"])
        self.assertEqual(len(pushes), 9)
        devices = {each.key.rpartition(b"|")[2] for each in self.world.subscriptions}
        for identity, number in committed:
            message = message_id("outbox", [identity], "event_order_created", number, 1_772_359_200_000)
            self.assertEqual({each.key for each in pushes if dict(each.headers)["message-id"].decode() == message}, devices)


if __name__ == "__main__":
    unittest.main()
