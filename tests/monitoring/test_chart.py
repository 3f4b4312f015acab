"""The Helm chart: its objects are those of packaging/kubernetes, and its values reach where they say; by Helm itself."""
import copy
import os
import pathlib
import shutil
import subprocess

import pytest
import yaml

from project import ALERTS, ROOT, run_tool

SOURCES = ROOT / "packaging" / "helm"
KUBERNETES = ROOT / "packaging" / "kubernetes"
OWN_LABELS = {"app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "app.kubernetes.io/version", "helm.sh/chart"}


@pytest.fixture(scope="module")
def helm() -> pathlib.Path:
    folder = pathlib.Path(os.environ.get("IOC_EXPORTER_HELM") or "/nonexistent")
    if not (folder / "helm").exists():
        skipped = folder / "skipped"
        pytest.skip(f"no Helm: {skipped.read_text().strip()}" if skipped.exists() else "no Helm: run ./test.sh")
    return folder / "helm"


def template(helm: pathlib.Path, folder: pathlib.Path, values: dict, status: int = 0) -> dict:
    """Objects by kind; what it says where it is to fail."""
    chart = folder / "chart"
    if not chart.exists():  # as scripts/make-release.sh lays it out
        shutil.copytree(SOURCES, chart)
        shutil.copytree(ALERTS, chart / "alerts")
        shutil.copytree(KUBERNETES, chart / "kubernetes")
    (folder / "values.yaml").write_text(yaml.safe_dump(values))
    lint = subprocess.run([helm, "lint", "--strict", chart, "--values", folder / "values.yaml"], capture_output=True, text=True)
    assert lint.returncode == 0, lint.stdout + lint.stderr
    made = subprocess.run([helm, "template", "site", chart, "--namespace", "controls", "--values", folder / "values.yaml",
                           "--kube-version", "1.31"], capture_output=True, text=True)
    assert made.returncode == status, made.stderr
    if status:
        return {"error": made.stderr}
    objects = [each for each in yaml.safe_load_all(made.stdout) if each]
    found = {each["kind"]: each for each in objects}
    assert len(found) == len(objects)
    return found


def test_its_objects_are_the_manifests(helm, tmp_path):
    made = template(helm, tmp_path, {"serviceMonitor": {"enabled": True}})
    assert set(made) == {"ConfigMap", "DaemonSet", "Service", "ServiceMonitor"}
    for kind, found in made.items():
        own = yaml.safe_load((KUBERNETES / f"{kind.lower()}.yaml").read_text())
        found = copy.deepcopy(found)
        assert found["metadata"].pop("namespace") == "controls" and own["metadata"].pop("namespace")
        for label in OWN_LABELS:
            assert found["metadata"]["labels"].pop(label)
        if kind == "DaemonSet":
            [container], [its] = (each["spec"]["template"]["spec"]["containers"] for each in (own, found))
            assert its.pop("imagePullPolicy") == "IfNotPresent"
            version = yaml.safe_load((SOURCES / "Chart.yaml").read_text())["appVersion"]
            assert (container.pop("image").partition(":")[0], its.pop("image")) == \
                ("localhost/ioc_exporter", f"localhost/ioc_exporter:{version}")
            assert its.keys() and found["spec"]["template"]["metadata"].pop("annotations")["checksum/config"]
        elif kind == "ConfigMap":
            found["data"], own["data"] = (yaml.safe_load(each["data"]["config.yml"]) for each in (found, own))
        assert found == own, kind


def test_values_of_the_daemon_set(helm, tmp_path):
    plain = template(helm, tmp_path, {})["DaemonSet"]
    made = template(helm, tmp_path, {
        "image": {"repository": "registry.site/ioc_exporter", "tag": "1.2.3", "pullPolicy": "Always", "pullSecrets": [{"name": "site"}]},
        "args": ["--collector.putlog"], "resources": {"limits": {"memory": "2Gi"}}, "nodeSelector": {"iocs": "yes"},
        "tolerations": [{"key": "iocs", "operator": "Exists"}], "priorityClassName": "low",
        "policy": {"default": "unexpected", "rules": []}})
    pod = made["DaemonSet"]["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert (container["image"], container["imagePullPolicy"]) == ("registry.site/ioc_exporter:1.2.3", "Always")
    assert container["args"][-1] == "--collector.putlog" and "--config.file=/etc/ioc_exporter/config.yml" in container["args"]
    assert container["resources"] == {"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"memory": "2Gi"}}
    assert pod["nodeSelector"] == {"kubernetes.io/os": "linux", "iocs": "yes"}
    assert (pod["tolerations"], pod["priorityClassName"]) == ([{"key": "iocs", "operator": "Exists"}], "low")
    assert pod["imagePullSecrets"] == [{"name": "site"}]
    config = yaml.safe_load(made["ConfigMap"]["data"]["config.yml"])
    assert config == {"pvs": {"expire": "7d"}, "policy": {"default": "unexpected", "rules": []}}
    sums = [each["spec"]["template"]["metadata"]["annotations"]["checksum/config"] for each in (plain, made["DaemonSet"])]
    assert sums[0] != sums[1], "a change of the policy restarts nothing"


def test_tls_and_passwords(helm, tmp_path):
    users = {"web": {"basic_auth_users": {"prometheus": "$2y$10$x"}}}
    assert "need probeHeaders" in template(helm, tmp_path, users, status=1)["error"]
    headers = [{"name": "Authorization", "value": "Basic cHJvbWV0aGV1czp4"}]
    made = template(helm, tmp_path, users | {"tls": {"secretName": "site-tls"}, "probeHeaders": headers,
                                             "serviceMonitor": {"enabled": True, "labels": {"release": "site"},
                                                                "endpoint": {"interval": "30s", "tlsConfig": {"serverName": "x"}}}})
    web = yaml.safe_load(made["Secret"]["stringData"]["web.yml"])
    assert web == users["web"] | {"tls_server_config": {"cert_file": "/etc/ioc_exporter_tls/tls.crt",
                                                        "key_file": "/etc/ioc_exporter_tls/tls.key"}}
    pod = made["DaemonSet"]["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert "--web.config.file=/etc/ioc_exporter_web/web.yml" in container["args"]
    volumes = {volume["name"]: volume.get("secret") for volume in pod["volumes"]}
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    assert volumes[mounts["/etc/ioc_exporter_tls"]] == {"secretName": "site-tls", "defaultMode": 0o400}
    assert volumes[mounts["/etc/ioc_exporter_web"]] == {"secretName": made["Secret"]["metadata"]["name"], "defaultMode": 0o400}
    for probe in ("readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"]["scheme"] == "HTTPS" and container[probe]["httpGet"]["httpHeaders"] == headers
    [endpoint] = made["ServiceMonitor"]["spec"]["endpoints"]
    assert (endpoint["scheme"], endpoint["interval"], endpoint["tlsConfig"]) == ("https", "30s", {"serverName": "x"})
    assert endpoint["relabelings"] and made["ServiceMonitor"]["metadata"]["labels"]["release"] == "site"


def test_rules_are_the_rendered_ones(helm, tmp_path):
    made = template(helm, tmp_path, {"prometheusRule": {"enabled": True, "labels": {"release": "site"}}})["PrometheusRule"]
    assert made["metadata"]["labels"]["release"] == "site"
    own = [group for path in sorted(ALERTS.glob("*.yml")) for group in yaml.safe_load(path.read_text())["groups"]]
    assert made["spec"]["groups"] == own
    (tmp_path / "rules.yml").write_text(yaml.safe_dump(made["spec"]))
    run_tool("promtool", "check", "rules", tmp_path / "rules.yml")
