"""Other clients that send to the stand-ins: `h2load`, Google's own library for servers, and a client of APNs in Python."""

import asyncio
import datetime
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time

# Of a push of an order: with it a record has some 850 bytes.
TEXT = "Your order is ready and will be brought to table 7 within ten minutes. " * 7
# As many as the library takes.
BATCH = 500
# Connections and streams as the sender has them.
CONNECTIONS, STREAMS = 10, 100


def run(name, stand_in, count):
    """Sends so many messages by a client in a process of its own: (requests/s, µs of CPU each, MB, MB)."""
    if name == "h2load":
        return run_h2load(stand_in, count)
    return json.loads(run_here(name, stand_in, stand_in.fcm if name == "firebase-admin" else stand_in.apns, str(count)))


def run_here(name, stand_in, *arguments):
    """What a process prints that runs one of the functions below."""
    environment = os.environ | {"REQUESTS_CA_BUNDLE": stand_in.ca, "SSL_CERT_FILE": stand_in.ca}
    # -P: `requests` is PyPI's and not the file beside this one.
    command = [sys.executable, "-P", __file__, name, stand_in.folder, *arguments]
    return subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def run_h2load(stand_in, count):
    """The same message each time."""
    with tempfile.NamedTemporaryFile("w") as body:
        body.write(json.dumps({"message": message("device-00000000:APA91b" + 128 * "7", 0)}))
        body.flush()
        token = run_here("access-token", stand_in)
        headers = ["-H", f"authorization: Bearer {token}", "-H", "content-type: application/json"]
        sizes = ["-n", str(count), "-c", str(CONNECTIONS), "-m", str(STREAMS), "-d", body.name]
        url = f"{stand_in.fcm}/v1/projects/test-project/messages:send"
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(["h2load", *sizes, *headers, url], capture_output=True, text=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if f" {count} 2xx" not in done.stdout:
        sys.exit(f"h2load: {done.stdout}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return float(re.search(r"([0-9.]+) req/s", done.stdout)[1]), cpu / count * 1e6, 0, 0


def print_access_token(folder):
    from google.auth.transport.requests import Request
    from google.oauth2.service_account import Credentials

    scopes = ["https://www.googleapis.com/auth/firebase.messaging"]
    found = Credentials.from_service_account_file(folder / "service-account.json", scopes=scopes)
    found.refresh(Request())
    print(found.token)


def message(token, number):
    android = {"priority": "high", "ttl": "10800s", "collapse_key": f"msg-{number:013}"}
    return {"token": token, "data": {"default": json.dumps({"data": {"message_id": f"msg-{number:013}", "text": TEXT}})}} | {
        "android": android
    }


def report(count, began):
    """Prints [requests/s, µs of CPU each, MB, MB] since `began`, a pair of clocks."""
    seconds, used = (now - then for now, then in zip(clocks(), began))
    # That of the resource usage would be its parent's where that is larger.
    peak = int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path("/proc/self/status").read_text())[1]) / 1024
    print(json.dumps([count / seconds, used / count * 1e6, peak, peak]))


def clocks():
    return time.monotonic(), time.process_time()


def firebase_admin(folder, url, count):
    """By `send_each`."""
    count = int(count)
    import firebase_admin
    from firebase_admin import credentials, messaging

    service = messaging._MessagingService
    names = [name for name in dir(service) if name.endswith("FCM_URL")]
    for name in names:
        setattr(service, name, url + "/v1/projects/{0}/messages:send")
    if not names:
        sys.exit("firebase-admin has no FCM_URL any more")
    firebase_admin.initialize_app(credentials.Certificate(str(folder / "service-account.json")))
    ttl = datetime.timedelta(seconds=10_800)

    def batch(first):
        values = [message(f"device-{number:08}:APA91b" + 128 * "7", number) for number in range(first, first + BATCH)]
        android = [messaging.AndroidConfig(**each["android"] | {"ttl": ttl}) for each in values]
        return [messaging.Message(token=one["token"], data=one["data"], android=two) for one, two in zip(values, android)]

    def send(batches):
        for each in batches:
            done = messaging.send_each(each)
            if done.failure_count:
                sys.exit(f"firebase-admin: {[one.exception for one in done.responses if one.exception][0]}")

    send([batch(0)])
    batches = [batch(first) for first in range(0, count, BATCH)]
    began = clocks()
    send(batches)
    report(len(batches) * BATCH, began)


def aioapns(folder, url, count):
    count = int(count)
    import aioapns
    from aioapns.connection import APNsProductionClientProtocol

    host, port = url.removeprefix("https://").split(":")
    APNsProductionClientProtocol.APNS_SERVER, APNsProductionClientProtocol.APNS_PORT = host, int(port)
    credential = next(each for each in json.loads((folder / "credentials.json").read_text()) if each["provider"] == "apns")

    async def send_all():
        client = aioapns.APNs(
            key=(folder / credential["key_file"]).read_text(),
            key_id=credential["key_id"],
            team_id=credential["team_id"],
            topic="com.example.courier",
            max_connections=CONNECTIONS,
        )
        numbers = iter(range(count))

        def request(number):
            return aioapns.NotificationRequest(
                device_token=f"{number:064x}",
                message={"aps": {"content-available": 1}, **message("", number)["data"]},
                time_to_live=10_800,
                priority=5,
                collapse_key=f"msg-{number:013}",
                push_type=aioapns.PushType.BACKGROUND,
            )

        async def send(number):
            done = await client.send_notification(request(number))
            if not done.is_successful:
                sys.exit(f"aioapns: {done.status} {done.description}")

        async def send_in_turn():
            for number in numbers:
                await send(number)

        await send(count)
        began = clocks()
        await asyncio.gather(*(send_in_turn() for _ in range(CONNECTIONS * STREAMS)))
        report(count, began)

    asyncio.run(send_all())


if __name__ == "__main__":
    commands = {"access-token": print_access_token, "firebase-admin": firebase_admin, "aioapns": aioapns}
    commands[sys.argv[1]](pathlib.Path(sys.argv[2]), *sys.argv[3:])
