"""docker-compose.yml, Dockerfile, the systemd units and the Kubernetes manifests: they parse, and every command line, variable,
path, port and exit code in them is one that the real program has."""

import json
import pathlib
import re
import shlex
import shutil
import socket
import subprocess
import tempfile
import unittest

import kubernetes_validate
import program
import yaml
from program import ROOT

OPERATIONS = ROOT / "docs/operations"
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
# The services that run Carillon.
OURS = {name: service for name, service in COMPOSE.items() if service["image"] == "carillon"}
FIRST = "kubernetes-first.yaml"
MANIFESTS = {path.name: list(yaml.safe_load_all(path.read_text())) for path in sorted(OPERATIONS.glob("kubernetes*.yaml"))}
SECRETS = {
    each["metadata"]["name"]: each["stringData"] for manifest in MANIFESTS.values() for each in manifest if each["kind"] == "Secret"
}
METRICS_PORT = 9464
# Where a container has the credentials of delivery.
CREDENTIALS = "/run/credentials"
# Where one has the keys of the API.
KEYS = "/run/keys"
LAST_ANSWERS = 15
# What a role needs beside the settings that all have.
NEEDS = {
    "broadcasts": {"CARILLON_TOPIC_BROADCASTS": "notifications.broadcasts"},
    "api": {"CARILLON_TOPIC_REQUESTS": "notifications.requests", "CARILLON_API_HTTP": "127.0.0.1:8080"},
}


def dockerfile():
    """The Dockerfile's instructions in order: (name, the rest), continued lines joined."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.M).replace("\\\n", " ")
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip()]


def image_variables():
    """What the image sets."""
    return dict(rest.split("=", 1) for name, rest in dockerfile() if name == "ENV")


def unit(name):
    """A systemd unit: the values of each name, in order."""
    values = {}
    for line in (OPERATIONS / name).read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            name, value = line.split("=", 1)
            values.setdefault(name, []).append(value)
    return values


def seconds(text):
    return int(re.fullmatch(r"(\d+)s?", str(text)).group(1))


def interpolated(variables, given):
    """A service's variables as Compose gives them: `${NAME:-}` is what its own environment has, else nothing."""
    return {name: re.sub(r"\$\{(\w+):-\}", lambda found: given.get(found[1], ""), value) for name, value in variables.items()}


def says_where_to_begin(words):
    """Units and manifests run for ever: where Kafka has forgotten the offsets, they would send a log again, or skip it."""
    return any(word.startswith("--from") for word in words)


def shutdown_timeout():
    _, output, _ = program.run(["check-config"], {"KAFKA_BOOTSTRAP_SERVERS": "kafka:9092"})
    return seconds(re.search(r"^shutdown\.timeout +(\S+)", output, re.M).group(1))


def new_key(*options):
    """A private key in PEM, as providers give it."""
    return subprocess.run(["openssl", "genpkey", *options], capture_output=True, text=True, check=True).stdout


def write_credentials(folder):
    """The list of credentials of the Kubernetes manifest, and the files that it names."""
    listed = SECRETS["carillon-delivery"]["credentials.json"]
    (folder / "credentials.json").write_text(listed)
    account = {
        "type": "service_account",
        "project_id": "shop",
        "private_key_id": "1",
        "private_key": new_key("-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"),
        "client_email": "sender@shop.iam.gserviceaccount.com",
        "token_uri": "https://oauth2.googleapis.com/token",
    }
    for each in json.loads(listed):
        if "service_account" in each:
            (folder / each["service_account"]).write_text(json.dumps(account))
        else:
            (folder / each["key_file"]).write_text(new_key("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"))


def documented_codes(restart):
    """The exit codes of docs/operating.md whose column "Restart?" is `restart`."""
    table = (ROOT / "docs/operating.md").read_text().split("## Exit codes")[1].split("\n\n")[1]
    return [int(code) for code, answer in re.findall(r"^\| (\d+) \|.*\| ([^|]*?) ?\|$", table, re.M) if answer == restart]


class Deployment(unittest.TestCase):
    """What all of them are asked."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        write_credentials(cls.folder)
        status, _, errors = program.run(["api", "key", "create", "--scope", "send", "--file", str(cls.folder / "keys.json")])
        assert status == 0, errors

    def here(self, variables):
        """The credentials are in a folder of ours."""
        folder = str(self.folder)
        return {name: value.replace(CREDENTIALS, folder).replace(KEYS, folder) for name, value in (variables or {}).items()}

    def assert_runs(self, arguments, variables=None, **options):
        self.assertEqual(program.problems(arguments, self.here(variables), **options), [], f"carillon {shlex.join(arguments)}")

    def assert_known(self, variables):
        """Every variable is a setting of ours or librdkafka's, with a value that is allowed."""
        sources, ignored, problems = program.configuration(self.here(variables))
        self.assertEqual((ignored, problems), ([], []))
        self.assertEqual(sorted(source[1:] for source in sources.values() if source[1:] in variables), sorted(variables))


class Checks(Deployment):
    def test_a_wrong_command_line_or_variable_is_noticed(self):
        broker = {"KAFKA_BOOTSTRAP_SERVERS": "kafka:9093"}
        for arguments in (["walk"], ["run", "--form", "latest"], ["run", "--from", "yesterday"], ["topics", "make"]):
            self.assertNotEqual(program.problems(arguments, broker), [], arguments)
        self.assertNotEqual(program.problems(["run"]), [], "no broker")
        for variable in ("CARILLON_FORM", "KAFKA_BOOTSTRAP_SERVER", "CARILLON_SESSION_TIMEOUT"):
            with self.assertRaises(AssertionError):
                self.assert_known(broker | {variable: "nonsense"})


# What turns the other two roles on, in Compose.
GIVEN = {
    "CARILLON_DELIVERY_CREDENTIALS": f"@{CREDENTIALS}/credentials.json",
    "CARILLON_TOPIC_BROADCASTS": "notifications.broadcasts",
}


class Compose(Deployment):
    def test_commands_and_variables_are_the_program_s_with_every_role_and_with_one(self):
        self.assertEqual(set(OURS), {"topics", "carillon"})
        for name, service in OURS.items():
            for given in (GIVEN, {}):
                with self.subTest(name, given=given):
                    variables = interpolated(service["environment"], given)
                    # An empty one is as good as none.
                    self.assert_known({name: value for name, value in variables.items() if value})
                    self.assert_runs(service["command"], variables)
            used = set(re.findall(r"\$\{(\w+):-\}", " ".join(service["environment"].values())))
            self.assertEqual(used, set(GIVEN), name)

    def test_one_process_has_every_role_whose_settings_are_there(self):
        self.assertEqual(OURS["carillon"]["command"], ["run", "--roles", "all"])

    def test_no_image_is_a_moving_one(self):
        for name, service in COMPOSE.items():
            if name not in OURS:
                self.assertRegex(service["image"], r":v?\d+\.\d+\.\d+$", name)

    def test_services_and_volumes_that_are_named_are_there(self):
        volumes = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["volumes"]
        for name, service in COMPOSE.items():
            for other in service.get("depends_on", {}):
                self.assertIn(other, COMPOSE, name)
            for mount in service.get("volumes", []):
                source = mount.split(":")[0]
                if source != "./credentials":
                    self.assertTrue((ROOT / source).is_dir() if source.startswith(".") else source in volumes, mount)
        self.assertIn("healthcheck", COMPOSE["kafka"])

    def test_the_state_has_the_image_s_volume_and_the_sender_time_to_drain(self):
        mounts = [mount.split(":")[1] for mount in COMPOSE["carillon"]["volumes"]]
        self.assertEqual(mounts[:1], [rest for name, rest in dockerfile() if name == "VOLUME"])
        self.assertGreater(seconds(COMPOSE["carillon"]["stop_grace_period"]), LAST_ANSWERS + shutdown_timeout())

    def test_the_credentials_are_only_read_and_neither_the_image_nor_a_commit_gets_a_key(self):
        for name, service in OURS.items():
            self.assertIn(f"./credentials:{CREDENTIALS}:ro", service["volumes"], name)
        self.assertIn("credentials/", (ROOT / ".dockerignore").read_text().split())
        self.assertIn("/credentials/", (ROOT / ".gitignore").read_text().split())

    def test_clients_use_the_broker_s_listener_inside_the_network(self):
        listeners = dict(each.split("://") for each in COMPOSE["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"].split(","))
        addresses = [service["environment"]["KAFKA_BOOTSTRAP_SERVERS"] for service in OURS.values()]
        addresses.append(COMPOSE["ui"]["environment"]["KAFKA_CLUSTERS_0_BOOTSTRAPSERVERS"])
        self.assertEqual(set(addresses), {listeners["INSIDE"]})
        self.assertEqual(COMPOSE["kafka"]["healthcheck"]["test"][-1].split(":")[1], listeners["INSIDE"].split(":")[1])

    def test_prometheus_scrapes_where_the_daemon_listens(self):
        settings = yaml.safe_load((OPERATIONS / "prometheus.yml").read_text())
        (daemon,) = settings["scrape_configs"]
        self.assertEqual(daemon["static_configs"], [{"targets": [f"carillon:{METRICS_PORT}"]}])
        self.assertEqual(image_variables()["CARILLON_HTTP"], f"0.0.0.0:{METRICS_PORT}")
        self.assertIn("--config.file=/etc/prometheus/prometheus.yml", COMPOSE["prometheus"]["command"])
        for rules in settings.get("rule_files", []):
            self.assertTrue((OPERATIONS / rules).is_file(), rules)


class Image(Deployment):
    def words(self, name):
        return [yaml.safe_load(rest) for each, rest in dockerfile() if each == name][-1]

    def test_it_starts_the_program(self):
        self.assertEqual(self.words("ENTRYPOINT"), ["carillon"])
        self.assert_runs(self.words("CMD"))

    def test_its_variables_are_the_program_s(self):
        self.assert_known(image_variables() | {"KAFKA_BOOTSTRAP_SERVERS": "kafka:9092"})

    def test_it_is_healthy_when_it_is_ready(self):
        (check,) = [rest for name, rest in dockerfile() if name == "HEALTHCHECK"]
        program_name, *arguments = json.loads(check[check.index("[") :])
        self.assertEqual((program_name, arguments[0]), ("carillon", "ready"))
        self.assertTrue(image_variables()["CARILLON_HTTP"].startswith("0.0.0.0:"))
        # It asks once: the address is enough, and nothing listens at this one.
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            variables = {"CARILLON_HTTP": f"0.0.0.0:{taken.getsockname()[1]}"}
            self.assertEqual(program.run(arguments, variables)[0], 75)

    def test_what_it_copies_is_there_and_not_ignored(self):
        ignored = (ROOT / ".dockerignore").read_text().split()
        copies = [rest.split() for name, rest in dockerfile() if name == "COPY" and not rest.startswith("--from")]
        self.assertTrue(copies)
        for *sources, _ in copies:
            for source in sources:
                self.assertTrue((ROOT / source).exists(), source)
                self.assertNotIn(f"{source}/", ignored)

    def test_the_build_s_flags_are_swift_s(self):
        commands = re.findall(r"swift build [^&)\"]*", " ".join(rest for name, rest in dockerfile() if name == "RUN"))
        self.assertEqual(len(commands), 2)
        known = subprocess.run(["swift", "build", "--help-hidden"], capture_output=True, text=True, timeout=60).stdout
        for flag in {word for command in commands for word in command.split() if word.startswith("-")}:
            self.assertRegex(known, rf"(?m)^\s+(\S+, )?{flag}\b|/{flag}\b", flag)

    def test_it_runs_as_a_user_that_owns_the_state(self):
        user = dockerfile_user()
        self.assertGreater(user, 0)
        made = " ".join(rest for name, rest in dockerfile() if name == "RUN")
        self.assertIn(f"--uid {user}", made)
        self.assertRegex(made, r"install -d -m 0700 -o carillon -g carillon /var/lib/carillon\b")

    @unittest.skipUnless(shutil.which("dpkg-query"), "not a Debian system")
    def test_its_packages_hold_every_library_that_the_program_needs(self):
        """What the program is linked with, looked up in Debian's packages. Swift's own libraries belong to none of them:
        they are in the program, by --static-swift-stdlib."""
        installed = re.search(r"--no-install-recommends\s+([^&]*)", [r for n, r in dockerfile() if n == "RUN"][-1]).group(1).split()
        of_the_system = {"libc6", "libstdc++6", "libgcc-s1"}
        needed = set()
        dynamic = subprocess.run(["readelf", "-d", program.carillon()], capture_output=True, text=True, check=True).stdout
        paths = dict(
            re.findall(
                r"(\S+) => (/\S+)", subprocess.run(["ldd", program.carillon()], capture_output=True, text=True, check=True).stdout
            )
        )
        for library in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
            path = pathlib.Path(paths[library]).resolve() if library in paths else None
            for candidate in filter(None, [path, paths.get(library)]):
                found = subprocess.run(["dpkg-query", "-S", f"*/{pathlib.Path(candidate).name}"], capture_output=True, text=True)
                if found.returncode == 0:
                    needed.add(found.stdout.split(":")[0])
                    break
        self.assertIn("librdkafka1", needed)
        self.assertEqual(needed - of_the_system - set(installed), set())


def dockerfile_user():
    return int([rest for name, rest in dockerfile() if name == "USER"][-1].split(":")[0])


class Units:
    """What each of the systemd units is asked."""

    name: str
    roles: str
    port: int
    time_to_drain = 0

    @property
    def unit(self):
        return unit(self.name)

    def arguments(self, folder):
        path, *arguments = shlex.split(self.unit["ExecStart"][0])
        self.assertEqual(path, "/usr/local/bin/carillon")
        return [word.replace("%d", str(folder)) for word in arguments]

    def test_the_command_line_takes_the_files_beside_it(self):
        shutil.copy(OPERATIONS / "carillon.properties", self.folder)
        arguments = self.arguments(self.folder)
        self.assertEqual(arguments[:3], ["run", "--roles", self.roles])
        self.assertFalse(says_where_to_begin(arguments))
        # Who has broadcasts or an API has the topic in the settings.
        self.assert_runs(arguments, NEEDS.get(self.roles))
        for each in self.unit["LoadCredential"]:
            name, path = each.split(":")
            self.assertEqual(path, f"/etc/carillon/{name}")
            self.assertTrue((self.folder / name).is_file(), name)

    def test_variables_are_the_program_s(self):
        variables = dict(each.split("=", 1) for each in self.unit["Environment"])
        self.assert_known(variables | {"KAFKA_BOOTSTRAP_SERVERS": "kafka:9092"})
        self.assertEqual(variables["CARILLON_HTTP"], f"127.0.0.1:{self.port}")

    def test_commands_in_its_comments_run(self):
        shutil.copy(OPERATIONS / "carillon.properties", self.folder)
        for command in re.findall(r"^#\s+carillon (.*)", (OPERATIONS / self.name).read_text(), re.M):
            self.assertFalse(says_where_to_begin(shlex.split(command)))
            self.assert_runs(shlex.split(command.replace("/etc/carillon", str(self.folder))))

    def test_every_file_of_the_list_is_a_credential_of_the_unit_if_it_sends(self):
        loaded = {each.split(":")[0] for each in self.unit["LoadCredential"]}
        sends = self.roles in ("all", "deliver")
        keys = {"keys.json"} if self.roles == "api" else set()
        self.assertEqual(loaded, {"carillon.properties"} | (set(SECRETS["carillon-delivery"]) if sends else set()) | keys)

    def test_systemd_hears_from_the_process_itself_and_ends_one_that_is_not_live(self):
        one = {key: self.unit[key] for key in ("Type", "NotifyAccess", "WatchdogSignal")}
        self.assertEqual(one, {"Type": ["notify"], "NotifyAccess": ["main"], "WatchdogSignal": ["SIGTERM"]})
        # As long as Kubernetes waits: six probes, ten seconds apart.
        probe = Kubernetes().container["livenessProbe"]
        self.assertEqual(seconds(self.unit["WatchdogSec"][0]), probe["periodSeconds"] * probe["failureThreshold"])

    def test_it_is_confined_as_the_other_units(self):
        own = {
            "Description",
            "ExecStart",
            "LoadCredential",
            "Environment",
            "TimeoutStopSec",
            "StateDirectory",
            "StateDirectoryMode",
        }
        units = [{key: value for key, value in unit(name).items() if key not in own} for name in (self.name, Unit.name)]
        self.assertEqual(*units)

    def test_it_does_not_restart_where_a_restart_cannot_help(self):
        self.assertEqual([int(code) for code in self.unit["RestartPreventExitStatus"][0].split()], documented_codes("no"))

    def test_there_is_time_to_drain(self):
        self.assertGreater(seconds(self.unit["TimeoutStopSec"][0]), self.time_to_drain + shutdown_timeout())

    @unittest.skipUnless(shutil.which("systemd-analyze"), "no systemd-analyze")
    def test_systemd_takes_it(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / self.name
            copy.write_text((OPERATIONS / self.name).read_text().replace("/usr/local/bin/carillon", program.carillon()))
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", copy], capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, self.name in done.stderr), (0, False), done.stderr)
            done = subprocess.run(
                ["systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager", copy],
                capture_output=True,
                text=True,
                timeout=60,
            )
            self.assertEqual(done.returncode, 0, done.stdout)


class Unit(Units, Deployment):
    name, roles, port, time_to_drain = "carillon.service", "all", METRICS_PORT, LAST_ANSWERS


# All may be on one machine.
class PipelineUnit(Units, Deployment):
    name, roles, port = "carillon-pipeline.service", "pipeline", METRICS_PORT


class BroadcastsUnit(Units, Deployment):
    name, roles, port = "carillon-broadcasts.service", "broadcasts", METRICS_PORT + 1


class DeliverUnit(Units, Deployment):
    name, roles, port, time_to_drain = "carillon-deliver.service", "deliver", METRICS_PORT + 2, LAST_ANSWERS


class RegistrarUnit(Units, Deployment):
    name, roles, port = "carillon-registrar.service", "registrar", METRICS_PORT + 4


class APIUnit(Units, Deployment):
    name, roles, port = "carillon-api.service", "api", METRICS_PORT + 3


class Manifests:
    """What each StatefulSet of the Kubernetes manifests is asked, with what belongs to it."""

    manifest = "kubernetes-roles.yaml"
    name: str
    roles: str
    time_to_drain = 0

    def one(self, kind):
        (found,) = [each for each in MANIFESTS[self.manifest] if (each["kind"], each["metadata"]["name"]) == (kind, self.name)]
        return found

    @property
    def pod(self):
        return self.one("StatefulSet")["spec"]["template"]["spec"]

    @property
    def container(self):
        return self.pod["containers"][0]

    def variables(self):
        """As the first pod would get them."""
        values = {}
        for entry in self.container["env"]:
            source = entry.get("valueFrom", {})
            if "secretKeyRef" in source:
                values[entry["name"]] = SECRETS[source["secretKeyRef"]["name"]][source["secretKeyRef"]["key"]]
            elif "fieldRef" in source:
                self.assertEqual(source["fieldRef"]["fieldPath"], "metadata.name")
                values[entry["name"]] = self.one("StatefulSet")["metadata"]["name"] + "-0"
            else:
                values[entry["name"]] = entry["value"]
        return values

    def test_kubernetes_schemas_take_every_object(self):
        for each in MANIFESTS[self.manifest] + MANIFESTS[FIRST]:
            kubernetes_validate.validate(each, "1.31", strict=True)
        spoilt = yaml.safe_load(yaml.safe_dump(self.one("StatefulSet")))
        spoilt["spec"]["template"]["spec"]["containers"][0]["livenesProbe"] = {}
        with self.assertRaises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(spoilt, "1.31", strict=True)

    def test_the_command_line_and_variables_are_the_program_s(self):
        self.assert_known(self.variables())
        self.assert_runs(self.container["args"], self.variables())
        self.assertEqual(self.container["args"], ["run", "--roles", self.roles])

    def test_a_pod_s_name_is_its_slot(self):
        self.assertEqual(self.variables()["CARILLON_INSTANCE_ID"], f"{self.name}-0")

    def test_a_role_that_sends_reads_the_credentials_by_its_group_and_no_other_has_them(self):
        mounts = [each for each in self.container["volumeMounts"] if each["name"] == "credentials"]
        volumes = [each for each in self.pod.get("volumes", []) if each["name"] == "credentials"]
        sends = self.roles in ("all", "deliver")
        self.assertEqual([each["mountPath"] for each in mounts if each["readOnly"]], [CREDENTIALS] * sends)
        secret = {"secretName": "carillon-delivery", "defaultMode": 0o440}
        self.assertEqual(volumes, [{"name": "credentials", "secret": secret}] * sends)
        self.assertEqual(self.pod["securityContext"]["fsGroup"], self.pod["securityContext"]["runAsGroup"])

    def test_the_api_reads_its_keys_by_its_group_and_no_other_role_has_them(self):
        mounts = [each["mountPath"] for each in self.container["volumeMounts"] if each["name"] == "keys" and each["readOnly"]]
        volumes = [each["secret"] for each in self.pod.get("volumes", []) if each["name"] == "keys"]
        answers = self.roles == "api"
        self.assertEqual(mounts, [KEYS] * answers)
        self.assertEqual(volumes, [{"secretName": self.name, "defaultMode": 0o440}] * answers)

    def test_a_role_that_keeps_something_has_the_image_s_volume(self):
        mounts = [each["mountPath"] for each in self.container["volumeMounts"] if each["name"] == "state"]
        claims = [each["metadata"]["name"] for each in self.one("StatefulSet")["spec"].get("volumeClaimTemplates", [])]
        keeps = self.roles != "deliver"
        self.assertEqual(mounts, [rest for name, rest in dockerfile() if name == "VOLUME"] * keeps)
        self.assertEqual(claims, ["state"] * keeps)

    def test_probes_and_metrics_are_where_the_daemon_listens(self):
        ports = {each["name"]: each["containerPort"] for each in self.container["ports"]}
        self.assertEqual(self.variables()["CARILLON_HTTP"], f"0.0.0.0:{ports['metrics']}")
        self.assertEqual(ports["metrics"], METRICS_PORT)
        probes = {self.container[f"{each}Probe"]["httpGet"][key] for each in ("liveness", "readiness") for key in ("path", "port")}
        self.assertEqual(probes, {"/live", "/ready", "metrics"})
        self.assertEqual(self.one("Service")["spec"]["ports"][0]["port"], METRICS_PORT)

    def test_only_monitoring_reaches_the_metrics_from_another_pod(self):
        policy = self.one("NetworkPolicy")["spec"]
        self.assertEqual(policy["policyTypes"], ["Ingress"])
        found = {
            port["port"]: [each["namespaceSelector"]["matchLabels"] for each in rule["from"]]
            for rule in policy["ingress"]
            for port in rule["ports"]
        }
        wanted = {"metrics": "monitoring"} | ({"api": "ingress-nginx"} if self.roles == "api" else {})
        self.assertEqual(found, {port: [{"kubernetes.io/metadata.name": name}] for port, name in wanted.items()})
        self.assertEqual(list(found), [each["name"] for each in self.container["ports"]])

    def test_it_is_the_image_s_user_with_time_to_drain(self):
        self.assertEqual(self.pod["securityContext"]["runAsUser"], dockerfile_user())
        self.assertGreater(self.pod["terminationGracePeriodSeconds"], self.time_to_drain + shutdown_timeout())

    def test_labels_select_the_pods(self):
        labels = self.one("StatefulSet")["spec"]["template"]["metadata"]["labels"]
        for selector in (
            self.one("Service")["spec"]["selector"],
            self.one("StatefulSet")["spec"]["selector"]["matchLabels"],
            self.one("PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
            self.one("NetworkPolicy")["spec"]["podSelector"]["matchLabels"],
        ):
            self.assertEqual(selector, labels)
        self.assertEqual(self.one("StatefulSet")["spec"]["serviceName"], self.one("Service")["metadata"]["name"])


class Kubernetes(Manifests, Deployment):
    manifest, name, roles, time_to_drain = "kubernetes.yaml", "carillon", "all", LAST_ANSWERS


class PipelineKubernetes(Manifests, Deployment):
    name, roles = "carillon-pipeline", "pipeline"


class BroadcastsKubernetes(Manifests, Deployment):
    name, roles = "carillon-broadcasts", "broadcasts"


class DeliverKubernetes(Manifests, Deployment):
    name, roles, time_to_drain = "carillon-deliver", "deliver", LAST_ANSWERS


class RegistrarKubernetes(Manifests, Deployment):
    name, roles = "carillon-registrar", "registrar"


class APIKubernetes(Manifests, Deployment):
    name, roles = "carillon-api", "api"


class FirstOffsets(Deployment):
    def test_the_job_is_the_program_s_and_confined_as_the_pods_are(self):
        (job,) = [each for each in MANIFESTS[FIRST] if each["kind"] == "Job"]
        pod, other = job["spec"]["template"]["spec"], Kubernetes()
        (container,) = pod["containers"]
        self.assertEqual(container["args"], ["offsets", "set", "--to", "latest"])
        self.assert_runs(container["args"], {each["name"]: each.get("value", "secret") for each in container["env"]})
        variables = {each["name"]: each for each in other.container["env"]}
        self.assertEqual([variables[each["name"]] for each in container["env"]], container["env"])
        for key in ("securityContext", "volumes", "automountServiceAccountToken"):
            self.assertEqual(pod[key], other.pod[key], key)
        self.assertEqual(container["securityContext"], other.container["securityContext"])

    def test_every_stateful_set_is_one_that_is_tested(self):
        tested = {(each.manifest, each.name) for each in Manifests.__subclasses__()}
        found = {
            (name, each["metadata"]["name"]) for name, all in MANIFESTS.items() for each in all if each["kind"] == "StatefulSet"
        }
        self.assertEqual(found, tested)
        self.assertEqual({each.name for each in Units.__subclasses__()}, {path.name for path in OPERATIONS.glob("*.service")})


if __name__ == "__main__":
    unittest.main()
