"""Kubernetes' manifests and the compose file: their form, and that they ask for what the program needs, no more.

The form is that of Kubernetes' API as far as these files use it; kubectl has the whole of it, and needs a cluster.
"""
import pathlib
import re

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
KUBERNETES = ROOT / "packaging" / "kubernetes"
# The unit's capabilities, and those that a process of root needs to become another user.
FOR_THE_START = ["SETUID", "SETGID", "SETPCAP"]

TEXT, NUMBER, FLAG = str, int, bool
NAMES = {TEXT: TEXT}  # any keys
META = {"name": TEXT, "namespace": TEXT, "labels": NAMES}
PROBE = {"httpGet": {"path": TEXT, "port": TEXT}, "initialDelaySeconds": NUMBER, "periodSeconds": NUMBER,
         "timeoutSeconds": NUMBER, "failureThreshold": NUMBER}
PROFILE = {"type": TEXT}
CONTAINER = {
    "name": TEXT, "image": TEXT, "args": [TEXT], "ports": [{"name": TEXT, "containerPort": NUMBER, "protocol": TEXT}],
    "readinessProbe": PROBE, "livenessProbe": PROBE, "resources": {"requests": NAMES, "limits": NAMES},
    "securityContext": {"runAsUser": NUMBER, "runAsGroup": NUMBER, "readOnlyRootFilesystem": FLAG,
                        "capabilities": {"drop": [TEXT], "add": [TEXT]}, "seccompProfile": PROFILE,
                        "appArmorProfile": PROFILE, "seLinuxOptions": {"type": TEXT}},
    "volumeMounts": [{"name": TEXT, "mountPath": TEXT, "readOnly": FLAG}],
}
POD = {
    "hostPID": FLAG, "hostNetwork": FLAG, "automountServiceAccountToken": FLAG, "nodeSelector": NAMES,
    "tolerations": [{"operator": TEXT}], "terminationGracePeriodSeconds": NUMBER, "containers": [CONTAINER],
    "volumes": [{"name": TEXT, "configMap": {"name": TEXT}, "hostPath": {"path": TEXT, "type": TEXT}}],
}
HEAD = {"apiVersion": TEXT, "kind": TEXT}
KINDS = {
    ("v1", "Namespace"): HEAD | {"metadata": META},
    ("v1", "ConfigMap"): HEAD | {"metadata": META, "data": NAMES},
    ("v1", "Service"): HEAD | {"metadata": META, "spec": {
        "clusterIP": TEXT, "selector": NAMES,
        "ports": [{"name": TEXT, "port": NUMBER, "targetPort": TEXT, "protocol": TEXT}]}},
    ("apps/v1", "DaemonSet"): HEAD | {"metadata": META, "spec": {
        "selector": {"matchLabels": NAMES}, "template": {"metadata": {"labels": NAMES}, "spec": POD},
        "updateStrategy": {"type": TEXT, "rollingUpdate": {"maxUnavailable": NUMBER}}}},
    ("monitoring.coreos.com/v1", "ServiceMonitor"): HEAD | {"metadata": META, "spec": {
        "selector": {"matchLabels": NAMES},
        "endpoints": [{"port": TEXT, "path": TEXT, "interval": TEXT, "relabelings": [
            {"sourceLabels": [TEXT], "targetLabel": TEXT, "regex": TEXT, "action": TEXT}]}]}},
    ("kustomize.config.k8s.io/v1beta1", "Kustomization"): HEAD | {"resources": [TEXT]},
}


def check_form(value, form, where):
    if isinstance(form, dict):
        assert isinstance(value, dict), where
        for key, inner in value.items():
            assert key in form or TEXT in form, f"{where}.{key}: no such key"
            check_form(inner, form.get(key, form.get(TEXT)), f"{where}.{key}")
    elif isinstance(form, list):
        assert isinstance(value, list) and value, where
        for i, inner in enumerate(value):
            check_form(inner, form[0], f"{where}[{i}]")
    else:
        assert type(value) is form, f"{where}: {value!r} is no {form.__name__}"


def objects() -> dict:
    found = {}
    for path in sorted(KUBERNETES.glob("*.yaml")):
        for each in yaml.safe_load_all(path.read_text()):
            check_form(each, KINDS[each["apiVersion"], each["kind"]], f"{path.name} {each['kind']}")
            found[each["kind"]] = each
    return found


@pytest.fixture(scope="module")
def manifests() -> dict:
    return objects()


@pytest.fixture(scope="module")
def container(manifests) -> dict:
    [container] = manifests["DaemonSet"]["spec"]["template"]["spec"]["containers"]
    return container


def unit_capabilities() -> list[str]:
    unit = (ROOT / "packaging" / "ioc_exporter.service.in").read_text()
    [bounding] = re.findall(r"^CapabilityBoundingSet=(.*)$", unit, re.M)
    return [word.removeprefix("CAP_") for word in bounding.split()]


def check_args(args: list[str]) -> None:
    """They are options that there are, with the words that they take."""
    known = " ".join(path.read_text() for path in (ROOT / "src").glob("*/options.cpp"))
    for argument in args:
        assert re.search(rf'"{re.escape(argument.partition("=")[0])}[= "]', known), argument


def test_parts_belong_together(manifests):
    assert set(manifests["Kustomization"]["resources"]) == {path.name for path in KUBERNETES.glob("*.yaml")} - {
        "kustomization.yaml"}
    namespace = manifests["Namespace"]["metadata"]["name"]
    labels = manifests["DaemonSet"]["spec"]["template"]["metadata"]["labels"]
    for kind in ("DaemonSet", "ConfigMap", "Service", "ServiceMonitor"):
        assert manifests[kind]["metadata"]["namespace"] == namespace
    assert manifests["DaemonSet"]["spec"]["selector"]["matchLabels"] == labels == manifests["Service"]["spec"]["selector"]
    assert manifests["ServiceMonitor"]["spec"]["selector"]["matchLabels"].items() <= \
        manifests["Service"]["metadata"]["labels"].items()
    [port], [endpoint] = manifests["Service"]["spec"]["ports"], manifests["ServiceMonitor"]["spec"]["endpoints"]
    assert port["name"] == endpoint["port"]


def test_daemon_set_asks_for_the_needed_rights(manifests, container):
    pod = manifests["DaemonSet"]["spec"]["template"]["spec"]
    assert pod["hostPID"] and pod["hostNetwork"] and pod["tolerations"] == [{"operator": "Exists"}]
    security = container["securityContext"]
    assert security["capabilities"] == {"drop": ["ALL"], "add": unit_capabilities() + FOR_THE_START}
    assert security["runAsUser"] == 0 and security["readOnlyRootFilesystem"]
    check_args(container["args"])
    [port] = container["ports"]
    for probe in ("readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"]["port"] == port["name"]
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    mounts = {mount["mountPath"]: mount for mount in container["volumeMounts"]}
    assert set(volumes) == {mount["name"] for mount in mounts.values()}
    assert [path for path, mount in mounts.items() if not mount.get("readOnly")] == ["/var/lib/ioc_exporter"]
    for path, mount in mounts.items():
        volume = volumes[mount["name"]]
        assert volume.get("hostPath", {"path": path})["path"] == path
    assert volumes["config"]["configMap"]["name"] == manifests["ConfigMap"]["metadata"]["name"]
    [config] = [word.partition("=")[2] for word in container["args"] if word.startswith("--config.file=")]
    assert config.rpartition("/")[2] in manifests["ConfigMap"]["data"]


def test_compose_asks_for_the_same(container):
    [service] = yaml.safe_load((ROOT / "packaging" / "compose" / "compose.yml").read_text())["services"].values()
    check_args(service["command"])
    capabilities = container["securityContext"]["capabilities"]
    assert (service["cap_add"], service["cap_drop"]) == (capabilities["add"], capabilities["drop"])
    assert (service["pid"], service["network_mode"], service["read_only"]) == ("host", "host", True)
    assert service["image"] == container["image"]
    mounts = {mount.split(":")[1] for mount in service["volumes"]}
    own = {mount["mountPath"] for mount in container["volumeMounts"]} - {"/etc/ioc_exporter", "/var/log/containers"}
    assert mounts == own | {"/var/lib/docker/containers"}
    released = re.search(r"^## (\S+) - \d{4}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text(), re.M)[1]
    assert container["image"] == f"localhost/ioc_exporter:{released}"
