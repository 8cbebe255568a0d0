"""A broker that asks for log-ins and permissions, and certificates that it does not have."""

import re
import shlex
import socket
import ssl
import subprocess
import threading
from typing import NamedTuple

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from harness.cluster import Cluster
from harness.waiting import Failure, wait_for


class Grant(NamedTuple):
    """One permission, as a line of kafka-acls.sh gives it; a user needs several."""

    operation: str
    resource: str  # topic, group or transactional-id
    name: str
    is_prefix: bool = False

    def binding(self, user):
        return AclBinding(
            ResourceType[self.resource.replace("-", "_").upper()],
            self.name,
            ResourcePatternType.PREFIXED if self.is_prefix else ResourcePatternType.LITERAL,
            f"User:{user}",
            "*",
            AclOperation[re.sub("(?<!^)(?=[A-Z])", "_", self.operation).upper()],
            AclPermissionType.ALLOW,
        )


def grants_in(commands, rename=lambda resource, name: name):
    """What lines with kafka-acls.sh grant."""
    grants = []
    for line in commands:
        words = shlex.split(line[line.index("kafka-acls.sh") :])
        pairs = list(zip(words, words[1:]))
        is_prefix = ("--resource-pattern-type", "prefixed") in pairs
        for flag, name in pairs:
            if flag in ("--topic", "--group", "--transactional-id"):
                grants += [
                    Grant(operation, flag[2:], rename(flag[2:], name), is_prefix)
                    for option, operation in pairs
                    if option == "--operation"
                ]
    return grants


class Guarded:
    """A broker with TLS, log-ins and deny-by-default; its administrator, and how others log in."""

    def __init__(self, harness, brokers):
        self.harness, self.folder = harness, brokers.folder
        bootstrap = brokers.start()
        properties = (self.folder / "1" / "server.properties").read_text()
        self.plain_text = re.search(r"CONTROLLER://(127.0.0.1:\d+)", properties)[1]
        login = {name.removeprefix("kafka."): value for name, value in self.login("admin").items()}
        self.cluster = Cluster(bootstrap, **login)

    def login(self, user):
        return {
            "kafka.security.protocol": "SASL_SSL",
            "kafka.ssl.ca.location": f"{self.folder}/ca.pem",
            "kafka.sasl.mechanism": "PLAIN",
            "kafka.sasl.username": user,
            "kafka.sasl.password": f"{user}-secret",
        }

    def grant(self, user, grants):
        bindings = [each.binding(user) for each in grants]
        for future in self.cluster.admin.create_acls(bindings).values():
            future.result(30)
        wait_for("the broker knows of the permissions", lambda: set(bindings) <= set(self.granted(user)), 30)

    def granted(self, user):
        filter = AclBindingFilter(
            ResourceType.ANY, None, ResourcePatternType.ANY, f"User:{user}", None, AclOperation.ANY, AclPermissionType.ANY
        )
        return self.cluster.admin.describe_acls(filter).result(30)

    def revoke(self, user, grant):
        binding = grant.binding(user)
        filter = AclBindingFilter(
            binding.restype,
            binding.name,
            binding.resource_pattern_type,
            binding.principal,
            "*",
            binding.operation,
            AclPermissionType.ALLOW,
        )
        for future in self.cluster.admin.delete_acls([filter]).values():
            if len(future.result(30)) != 1:
                raise Failure(f"{grant} was not granted to {user}")


class TLSListener:
    """A listener that shows a certificate and does nothing else."""

    def __init__(self, certificate, key):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.socket.getsockname()[1]
        threading.Thread(target=self._serve, args=(context,), daemon=True).start()

    def _serve(self, context):
        while True:
            try:
                with self.socket.accept()[0] as connection, context.wrap_socket(connection, server_side=True):
                    pass
            except ssl.SSLError:
                continue
            except OSError:
                return


def openssl(folder, words):
    subprocess.run(["openssl", *words.split()], cwd=folder, check=True, capture_output=True)


def certificate(folder, name, start, end):
    """A certificate that signs itself, and its key."""
    folder = folder / name
    folder.mkdir()
    (folder / "index.txt").touch()
    (folder / "configuration").write_text(
        "[ca]\ndefault_ca=own\n[own]\ndatabase=index.txt\nnew_certs_dir=.\ndefault_md=sha256\nrand_serial=yes\npolicy=any\n"
        "x509_extensions=names\n[any]\ncommonName=supplied\n[names]\nsubjectAltName=IP:127.0.0.1\n"
    )
    openssl(folder, "req -new -newkey rsa:2048 -nodes -subj /CN=localhost -keyout key.pem -out request.pem")
    openssl(
        folder,
        "ca -batch -selfsign -config configuration -keyfile key.pem -in request.pem -out certificate.pem -notext "
        f"-startdate {start} -enddate {end}",
    )
    return folder / "certificate.pem", folder / "key.pem"
