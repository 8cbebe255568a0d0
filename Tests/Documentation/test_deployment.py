"""docker-compose.yml, Dockerfile, the systemd unit and the Kubernetes manifest: they parse, and every command line, variable,
path, port and exit code in them is one that the real program has."""

import pathlib
import re
import shlex
import shutil
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
MANIFEST = list(yaml.safe_load_all((OPERATIONS / "kubernetes.yaml").read_text()))
METRICS_PORT = 9464


def dockerfile():
    """The Dockerfile's instructions in order: (name, the rest), continued lines joined."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.M).replace("\\\n", " ")
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip()]


def unit():
    """The systemd unit: the values of each name, in order."""
    values = {}
    for line in (OPERATIONS / "carillon.service").read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            name, value = line.split("=", 1)
            values.setdefault(name, []).append(value)
    return values


def seconds(text):
    return int(re.fullmatch(r"(\d+)s?", str(text)).group(1))


def shutdown_timeout():
    _, output, _ = program.run(["check-config"], {"KAFKA_BOOTSTRAP_SERVERS": "kafka:9092"})
    return seconds(re.search(r"^shutdown\.timeout +(\S+)", output, re.M).group(1))


def documented_codes(restart):
    """The exit codes of docs/operating.md whose column "Restart?" is `restart`."""
    table = (ROOT / "docs/operating.md").read_text().split("## Exit codes")[1].split("\n\n")[1]
    return [int(code) for code, answer in re.findall(r"^\| (\d+) \|.*\| ([^|]*?) ?\|$", table, re.M) if answer == restart]


class Deployment(unittest.TestCase):
    """What all of them are asked."""

    def assert_runs(self, arguments, variables=None, **options):
        self.assertEqual(program.problems(arguments, variables, **options), [], f"carillon {shlex.join(arguments)}")

    def assert_known(self, variables):
        """Every variable is a setting of ours or librdkafka's, with a value that is allowed."""
        sources, ignored, problems = program.configuration(variables)
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


class Compose(Deployment):
    def test_commands_and_variables_are_the_program_s(self):
        self.assertEqual(set(OURS), {"topics", "carillon"})
        for name, service in OURS.items():
            with self.subTest(name):
                self.assert_known(service["environment"])
                self.assert_runs(service["command"], service["environment"])

    def test_services_and_volumes_that_are_named_are_there(self):
        volumes = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["volumes"]
        for name, service in COMPOSE.items():
            for other in service.get("depends_on", {}):
                self.assertIn(other, COMPOSE, name)
            for mount in service.get("volumes", []):
                source = mount.split(":")[0]
                self.assertTrue((ROOT / source).is_dir() if source.startswith(".") else source in volumes, mount)
        self.assertIn("healthcheck", COMPOSE["kafka"])

    def test_the_state_has_the_image_s_volume_and_time_to_drain(self):
        mounts = [mount.split(":")[1] for mount in COMPOSE["carillon"]["volumes"]]
        self.assertEqual(mounts, [rest for name, rest in dockerfile() if name == "VOLUME"])
        self.assertGreater(seconds(COMPOSE["carillon"]["stop_grace_period"]), shutdown_timeout())

    def test_clients_use_the_broker_s_listener_inside_the_network(self):
        listeners = dict(each.split("://") for each in COMPOSE["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"].split(","))
        addresses = [service["environment"]["KAFKA_BOOTSTRAP_SERVERS"] for service in OURS.values()]
        addresses.append(COMPOSE["ui"]["environment"]["KAFKA_CLUSTERS_0_BOOTSTRAPSERVERS"])
        self.assertEqual(set(addresses), {listeners["INSIDE"]})
        self.assertEqual(COMPOSE["kafka"]["healthcheck"]["test"][-1].split(":")[1], listeners["INSIDE"].split(":")[1])

    def test_prometheus_scrapes_where_the_daemon_listens(self):
        settings = yaml.safe_load((OPERATIONS / "prometheus.yml").read_text())
        self.assertEqual(settings["scrape_configs"][0]["static_configs"][0]["targets"], [f"carillon:{METRICS_PORT}"])
        self.assertEqual(COMPOSE["carillon"]["environment"]["CARILLON_HTTP"], f"0.0.0.0:{METRICS_PORT}")
        self.assertIn("--config.file=/etc/prometheus/prometheus.yml", COMPOSE["prometheus"]["command"])
        for rules in settings.get("rule_files", []):
            self.assertTrue((OPERATIONS / rules).is_file(), rules)


class Image(Deployment):
    def words(self, name):
        return [yaml.safe_load(rest) for each, rest in dockerfile() if each == name][-1]

    def test_it_starts_the_program(self):
        self.assertEqual(self.words("ENTRYPOINT"), ["carillon"])
        self.assert_runs(self.words("CMD"))

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


class Unit(Deployment):
    def arguments(self, folder):
        path, *arguments = shlex.split(unit()["ExecStart"][0])
        self.assertEqual(path, "/usr/local/bin/carillon")
        return [word.replace("%d", folder) for word in arguments]

    def test_the_command_line_takes_the_file_beside_it(self):
        self.assert_runs(self.arguments(str(OPERATIONS)))
        credential = unit()["LoadCredential"][0].split(":")[0]
        self.assertIn(f"%d/{credential}", unit()["ExecStart"][0])

    def test_variables_are_the_program_s(self):
        variables = dict(each.split("=", 1) for each in unit()["Environment"])
        self.assert_known(variables | {"KAFKA_BOOTSTRAP_SERVERS": "kafka:9093"})
        self.assertEqual(variables["CARILLON_HTTP"], f"127.0.0.1:{METRICS_PORT}")

    def test_commands_in_its_comments_run(self):
        commands = re.findall(r"^#\s+carillon (.*)", (OPERATIONS / "carillon.service").read_text(), re.M)
        self.assertTrue(commands)
        for command in commands:
            self.assert_runs(shlex.split(command.replace("/etc/carillon", str(OPERATIONS))))

    def test_it_does_not_restart_where_a_restart_cannot_help(self):
        self.assertEqual([int(code) for code in unit()["RestartPreventExitStatus"][0].split()], documented_codes("no"))

    def test_there_is_time_to_drain(self):
        self.assertGreater(seconds(unit()["TimeoutStopSec"][0]), shutdown_timeout())

    @unittest.skipUnless(shutil.which("systemd-analyze"), "no systemd-analyze")
    def test_systemd_takes_it(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / "carillon.service"
            copy.write_text((OPERATIONS / "carillon.service").read_text().replace("/usr/local/bin/carillon", program.carillon()))
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", copy], capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, "carillon.service" in done.stderr), (0, False), done.stderr)


class Kubernetes(Deployment):
    def one(self, kind):
        found = [each for each in MANIFEST if each["kind"] == kind]
        self.assertEqual(len(found), 1, kind)
        return found[0]

    @property
    def pod(self):
        return self.one("StatefulSet")["spec"]["template"]["spec"]

    @property
    def container(self):
        return self.pod["containers"][0]

    def variables(self):
        """As the first pod would get them."""
        secret, values = self.one("Secret"), {}
        for entry in self.container["env"]:
            source = entry.get("valueFrom", {})
            if "secretKeyRef" in source:
                self.assertEqual(source["secretKeyRef"]["name"], secret["metadata"]["name"])
                values[entry["name"]] = secret["stringData"][source["secretKeyRef"]["key"]]
            elif "fieldRef" in source:
                self.assertEqual(source["fieldRef"]["fieldPath"], "metadata.name")
                values[entry["name"]] = self.one("StatefulSet")["metadata"]["name"] + "-0"
            else:
                values[entry["name"]] = entry["value"]
        return values

    def test_kubernetes_schemas_take_every_object(self):
        for each in MANIFEST:
            kubernetes_validate.validate(each, "1.31", strict=True)
        spoilt = yaml.safe_load(yaml.safe_dump(self.one("StatefulSet")))
        spoilt["spec"]["template"]["spec"]["containers"][0]["livenesProbe"] = {}
        with self.assertRaises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(spoilt, "1.31", strict=True)

    def test_the_command_line_and_variables_are_the_program_s(self):
        self.assert_known(self.variables())
        self.assert_runs(self.container["args"], self.variables())
        for variable in re.findall(r"kubectl set env \S+ (\w+)=(\w+)", (OPERATIONS / "kubernetes.yaml").read_text()):
            self.assert_known({"KAFKA_BOOTSTRAP_SERVERS": "kafka:9093"} | dict([variable]))

    def test_a_pod_s_name_is_its_slot(self):
        self.assertEqual(self.variables()["CARILLON_INSTANCE_ID"], "carillon-0")

    def test_probes_and_metrics_are_where_the_daemon_listens(self):
        ports = {each["name"]: each["containerPort"] for each in self.container["ports"]}
        self.assertEqual(self.variables()["CARILLON_HTTP"], f"0.0.0.0:{ports['metrics']}")
        self.assertEqual(ports["metrics"], METRICS_PORT)
        probes = {self.container[f"{each}Probe"]["httpGet"][key] for each in ("liveness", "readiness") for key in ("path", "port")}
        self.assertEqual(probes, {"/live", "/ready", "metrics"})
        self.assertEqual(self.one("Service")["spec"]["ports"][0]["port"], METRICS_PORT)

    def test_it_is_the_image_s_user_with_the_image_s_volume_and_time_to_drain(self):
        self.assertEqual(self.pod["securityContext"]["runAsUser"], dockerfile_user())
        mounts = {each["name"]: each["mountPath"] for each in self.container["volumeMounts"]}
        self.assertEqual(list(mounts.values()), [rest for name, rest in dockerfile() if name == "VOLUME"])
        claims = [each["metadata"]["name"] for each in self.one("StatefulSet")["spec"]["volumeClaimTemplates"]]
        self.assertEqual(claims, list(mounts))
        self.assertGreater(self.pod["terminationGracePeriodSeconds"], shutdown_timeout())

    def test_labels_select_the_pods(self):
        labels = self.one("StatefulSet")["spec"]["template"]["metadata"]["labels"]
        for selector in (
            self.one("Service")["spec"]["selector"],
            self.one("StatefulSet")["spec"]["selector"]["matchLabels"],
            self.one("PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
        ):
            self.assertEqual(selector, labels)
        self.assertEqual(self.one("StatefulSet")["spec"]["serviceName"], self.one("Service")["metadata"]["name"])


if __name__ == "__main__":
    unittest.main()
