#!/usr/bin/env python3
"""Lints the Compose file, renders the chart with several values, and validates what comes out.

Each rendered object must fit the schema of Kubernetes. Each pod must run without rights, with limits,
one at a time, below a network policy. The Compose file must hold the same rules.

usage: tools/deploy_check.py HELM
Needs the packages of python/requirements/deploy.txt.
"""

import pathlib
import subprocess
import sys
import unittest

import kubernetes_validate
import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHART = ROOT / "packaging/helm"
HELM = sys.argv.pop(1)
# The oldest that Chart.yaml allows, and the newest that the package has schemas of.
KUBERNETES = ("1.29.0", "1.37.0")

SERVER = {"server.enabled": "true", "server.keySecret": "server-key"}
SITE = {"site.enabled": "true", "site.keySecret": "site-key", "site.dataClaim": "patients",
        "site.server": "federation.example.org:7443"}
POSTGRES = {"server.postgres.url": "postgresql://tacet@database/tacet",
            "server.postgres.passwordSecret": "database",
            "server.postgres.to[0].podSelector.matchLabels.app": "database"}
CASES = {
    "server": SERVER,
    "server with PostgreSQL": SERVER | POSTGRES,
    "server behind a balancer, with a page": SERVER | {
        "server.behindBalancer": "true", "server.page": "on", "server.service.type": "ClusterIP",
        "server.extraArguments[0]": "--kept-rounds=5",
        "server.networkPolicy.operators[0].namespaceSelector.matchLabels.name": "monitoring"},
    "server in maintenance": SERVER | {"server.maintenance": "true"},
    "site": SITE,
    "site with its own files and a proxy": SITE | {
        "site.configMap": "site", "site.policyConfigMap": "policy", "site.dataPath": "north.csv",
        "site.proxy": "http://proxy.example.org:3128", "site.networkPolicy.ports[0]": "3128",
        "image.pullSecrets[0]": "registry", "site.homeStorage.className": "fast"},
    "site in maintenance": SITE | {"site.maintenance": "true"},
}


def helm(*arguments, text=""):
    return subprocess.run([HELM, *arguments, "--values", "-"], input=text, check=False,
                          capture_output=True, text=True)


def flags(values):
    """Values as arguments; every text but true stays a text."""
    listed = []
    for name, value in values.items():
        listed += ["--set" if value in ("true", "3128") else "--set-string", f"{name}={value}"]
    return listed


def render(case, kubernetes=KUBERNETES[-1], values=""):
    """Objects that the chart makes of a case, and of a text of values in addition."""
    done = helm("template", "hub", str(CHART), "--namespace", "tacet", "--kube-version", kubernetes,
                *flags(case), text=values)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return [one for one in yaml.safe_load_all(done.stdout) if one is not None]


class Chart(unittest.TestCase):
    def each_case(self):
        """Values of each case, and the objects that they make, by kind."""
        return [(values, {one["kind"]: one for one in render(values)}) for values in CASES.values()]

    def test_helm_finds_no_fault(self):
        for name, values in CASES.items():
            with self.subTest(name):
                done = helm("lint", "--strict", str(CHART), "--kube-version", KUBERNETES[-1],
                            *flags(values))
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_objects_fit_the_schemas(self):
        for values in CASES.values():
            for kubernetes in KUBERNETES:
                for one in render(values, kubernetes):
                    kubernetes_validate.validate(one, kubernetes.rsplit(".", 1)[0], strict=True)

    def test_missing_values_are_named(self):
        for case in (SERVER, SITE):
            for name in case:
                if not name.endswith(".enabled"):
                    with self.assertRaisesRegex(AssertionError, name):
                        render({key: value for key, value in case.items() if key != name})
        with self.assertRaisesRegex(AssertionError, "server.postgres.to"):
            render(SERVER | {"server.postgres.url": "postgresql://tacet@database/tacet"})

    def test_a_value_that_the_chart_does_not_know_is_refused(self):
        for name, value in (("site.Server", "hub:7443"), ("site.networkPolicy.allow", "none"),
                            ("server.page", "yes"), ("site.server", "hub"),
                            ("site.homeStorage.accessMode", "ReadWriteMany")):
            with self.assertRaisesRegex(AssertionError, "schema"):
                render(SERVER | SITE | {name: value})
        # An empty list of peers would let everybody in.
        with self.assertRaisesRegex(AssertionError, "schema"):
            render(SERVER, values="{server: {networkPolicy: {members: []}}}")

    def test_pods_have_no_rights(self):
        for _, kinds in self.each_case():
            pod = kinds["StatefulSet"]["spec"]["template"]["spec"]
            self.assertFalse(pod["automountServiceAccountToken"])
            self.assertTrue(pod["securityContext"]["runAsNonRoot"])
            self.assertGreater(pod["securityContext"]["runAsUser"], 0)
            for container in pod["initContainers"] + pod["containers"]:
                self.assertEqual(container["securityContext"], {
                    "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                    "capabilities": {"drop": ["ALL"]}})
                self.assertLessEqual({"cpu", "memory"}, set(container["resources"]["limits"]))

    def test_keys_come_from_secrets_through_memory(self):
        for _, kinds in self.each_case():
            pod = kinds["StatefulSet"]["spec"]["template"]["spec"]
            volumes = {one["name"]: one for one in pod["volumes"]}
            self.assertEqual(volumes["memory"]["emptyDir"]["medium"], "Memory")
            secret = {name for name, one in volumes.items() if "secret" in one}
            self.assertIn("key", secret)
            [main] = pod["containers"]
            mounted = {one["name"]: one["mountPath"] for one in main["volumeMounts"]}
            self.assertFalse(secret & set(mounted), "a Secret's own file is readable for a group")
            self.assertEqual(mounted["memory"], "/run/tacet")
            if main["name"] == "site":
                self.assertIn({"name": "XDG_RUNTIME_DIR", "value": "/run/tacet"}, main["env"])

    def test_one_process_at_a_time_owns_a_home(self):
        for _, kinds in self.each_case():
            spec = kinds["StatefulSet"]["spec"]
            self.assertEqual(spec["replicas"], 1)
            claims = {one["metadata"]["name"]: one["spec"] for one in spec["volumeClaimTemplates"]}
            self.assertEqual(claims["home"]["accessModes"], ["ReadWriteOncePod"])

    def test_a_server_is_probed_and_stays_reachable(self):
        for values, kinds in self.each_case():
            if "server.enabled" not in values:
                self.assertNotIn("Service", kinds)
                continue
            [server] = kinds["StatefulSet"]["spec"]["template"]["spec"]["containers"]
            if "server.maintenance" in values:
                self.assertNotIn("livenessProbe", server)
            else:
                self.assertEqual(server["livenessProbe"]["httpGet"]["path"], "/healthz")
                self.assertEqual(server["readinessProbe"]["httpGet"]["path"], "/readyz")
            self.assertTrue(kinds["Service"]["spec"]["publishNotReadyAddresses"])

    def test_a_network_policy_covers_each_pod(self):
        for values, kinds in self.each_case():
            policy = kinds["NetworkPolicy"]["spec"]
            labels = kinds["StatefulSet"]["spec"]["template"]["metadata"]["labels"]
            self.assertLessEqual(policy["podSelector"]["matchLabels"].items(), labels.items())
            self.assertEqual(set(policy["policyTypes"]), {"Ingress", "Egress"})
            if "site.enabled" in values:
                self.assertEqual(policy["ingress"], [])
            elif "server.postgres.url" not in values:
                self.assertEqual(policy["egress"], [])

    def test_a_release_without_a_party_is_empty(self):
        self.assertEqual(render({}), [])


class Compose(unittest.TestCase):
    def setUp(self):
        self.compose = yaml.safe_load((ROOT / "packaging/compose.yaml").read_text())

    def test_each_party_runs_without_rights_and_with_limits(self):
        for name in ("hub", "north", "south", "west"):
            service = self.compose["services"][name]
            self.assertEqual(service["user"], "10001:10001")
            self.assertTrue(service["read_only"])
            self.assertEqual(service["cap_drop"], ["ALL"])
            self.assertEqual(service["security_opt"], ["no-new-privileges:true"])
            self.assertEqual(service["environment"]["XDG_RUNTIME_DIR"], "/run/tacet")
            self.assertIn("/run/tacet", service["tmpfs"])
            self.assertTrue(service["cpus"] and service["mem_limit"], name)

    def test_no_party_has_the_volume_of_another(self):
        services = self.compose["services"]
        owners = {}
        for name, service in services.items():
            for volume in service.get("volumes", []):
                if not volume.startswith("./"):
                    owners.setdefault(volume.split(":")[0], []).append(name)
        self.assertEqual(set(owners), set(self.compose["volumes"]))
        for volume, names in owners.items():
            self.assertLessEqual(len(set(names) - {"enrolment"}), 1, f"{volume}: {names}")

    def test_only_the_server_reaches_the_database(self):
        services = self.compose["services"]
        self.assertEqual({name for name, one in services.items() if "database" in one.get("networks", [])},
                         {"database", "hub"})
        self.assertTrue(self.compose["networks"]["database"]["internal"])
        for name, service in services.items():
            for port in service.get("ports", []):
                self.assertTrue(port.startswith("127.0.0.1:"), f"{name}: {port}")


if __name__ == "__main__":
    unittest.main()
