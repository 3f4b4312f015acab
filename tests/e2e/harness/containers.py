"""Containers by runc (package runc): what an engine makes of an image and of a pod, without an engine."""
import functools
import gzip
import hashlib
import io
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tarfile

import pytest
import yaml

from . import env
from .exporter import Exporter
from .ioc import Ioc
from .process import Process

PROJECT = env.E2E_DIR.parent.parent
MANIFESTS = PROJECT / "packaging" / "kubernetes"
# Paths of /proc that engines hide.
MASKED = ["/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list", "/proc/sched_debug",
          "/proc/scsi", "/sys/firmware"]
READ_ONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]


def bind(source: pathlib.Path | str, target: pathlib.Path | str, read_only: bool = True) -> dict:
    return {"source": str(source), "destination": str(target), "type": "bind",
            "options": ["rbind", "ro" if read_only else "rw"]}


class Container:
    """A container of runc; `number`: its id in the path of its cgroup."""

    def __init__(self, folder: pathlib.Path, name: str, rootfs: pathlib.Path, mounts: list[dict], namespaces: list[str],
                 capabilities: list[str] = (), hostname: str | None = None):
        if not shutil.which("runc"):
            pytest.skip("needs runc (package runc)")
        self.bundle = folder / f"bundle-{name}"
        self.bundle.mkdir()
        self.name = f"ioc-exporter-test-{os.getpid()}-{name}"
        self.number = hashlib.sha256(self.name.encode()).hexdigest()
        self._state = folder / "runc"
        held = [f"CAP_{each}" for each in capabilities]
        self._config = {
            "ociVersion": "1.0.2",
            "process": {"user": {"uid": 0, "gid": 0}, "cwd": "/",
                        "capabilities": {"bounding": held, "effective": held, "permitted": held}},
            "root": {"path": str(rootfs), "readonly": True},
            "mounts": [{"source": "proc", "destination": "/proc", "type": "proc"},
                       {"source": "tmpfs", "destination": "/dev", "type": "tmpfs", "options": ["nosuid", "mode=755"]},
                       {"source": "sysfs", "destination": "/sys", "type": "sysfs", "options": ["ro"]}, *mounts],
            "linux": {"namespaces": [{"type": each} for each in namespaces], "maskedPaths": MASKED,
                      "readonlyPaths": READ_ONLY, "cgroupsPath": f"/ioc-exporter-test-{self.number}"},
        }
        if hostname:
            self._config["hostname"] = hostname

    def run(self, argv: list[object], environment: dict[str, str], log_dir: pathlib.Path) -> "ContainerProcess":
        process = {**self._config["process"], "args": [str(word) for word in argv],
                   "env": [f"{name}={value}" for name, value in environment.items()]}
        (self.bundle / "config.json").write_text(json.dumps({**self._config, "process": process}))
        return ContainerProcess(self, log_dir)

    @property
    def runc(self) -> list[object]:
        return ["runc", "--root", self._state]

    @property
    def pid(self) -> int:
        """Its first process, as the host sees it."""
        return int((self.bundle / "pid").read_text())


class ContainerProcess(Process):
    """runc, which waits for the container's end."""

    def __init__(self, container: Container, log_dir: pathlib.Path):
        self._container = container
        super().__init__(container.name, [*container.runc, "run", "--pid-file", container.bundle / "pid", "--bundle",
                                          container.bundle, container.name], log_dir)

    def kill(self) -> None:
        """All of it ends with its first process; then runc clears up."""
        if self.popen.poll() is None:
            subprocess.run([*self._container.runc, "kill", self._container.name, "KILL"], capture_output=True)
            try:
                self.popen.wait(60)
            except subprocess.TimeoutExpired:
                pass
        super().kill()


class ContainerIoc(Ioc):
    """An IOC, the only child of its container's first process, which ends it should the test be lost."""

    def __init__(self, name: str, database: str, log_dir: pathlib.Path, base: str, kubelet_name: str = "",
                 host_name: str = ""):
        rootfs = log_dir / f"root-{name}"
        rootfs.mkdir()
        self._own_environment = {"PATH": "/usr/bin:/bin"} | ({"HOSTNAME": host_name} if host_name else {})
        mounts = [bind(path, path) for path in (env.test_env(), env.tool("."), log_dir)]
        for top in map(pathlib.Path, ("/usr", "/bin", "/lib", "/lib64")):
            if top.is_symlink():
                (rootfs / top.name).symlink_to(os.readlink(top))
            elif top.exists():
                mounts.append(bind(top, top))
        self.container = Container(log_dir, name, rootfs, mounts, ["pid", "mount", "ipc", "uts", "network"],
                                   hostname="somewhere")
        if kubelet_name:
            folder = log_dir / "kubelet"
            folder.mkdir(exist_ok=True)
            (folder / f"{kubelet_name}-{self.container.number}.log").symlink_to("/nowhere")
        super().__init__(name, database, log_dir, base=base)

    def _start(self, argv: list[object], log_dir: pathlib.Path, environment: dict[str, str]) -> Process:
        del environment["IOCNAME"]
        return self.container.run(["timeout", "--foreground", "600", *argv], environment | self._own_environment, log_dir)

    @property
    def pid(self) -> int:
        with open(f"/proc/{self.container.pid}/task/{self.container.pid}/children") as children:
            return int(children.read())

    @property
    def inside(self) -> list[str]:
        """A command that runs another one in its network."""
        return ["nsenter", f"--target={self.container.pid}", "--net"]


class Image:
    """An OCI image layout in a tar, each blob checked by its digest."""

    def __init__(self, path: pathlib.Path):
        with tarfile.open(path) as tar:
            self._files = {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}
        assert json.loads(self._files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
        [entry] = json.loads(self._files["index.json"])["manifests"]
        self.manifest = json.loads(self.blob(entry))
        self.config = json.loads(self.blob(self.manifest["config"]))
        [layer] = self.manifest["layers"]
        self.layer = gzip.decompress(self.blob(layer))
        assert self.config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(self.layer).hexdigest()}"]
        [docker] = json.loads(self._files["manifest.json"])
        assert self._files[docker["Config"]] == self.blob(self.manifest["config"])
        assert [self._files[each] for each in docker["Layers"]] == [self.blob(layer)]

    def blob(self, entry: dict) -> bytes:
        algorithm, digest = entry["digest"].split(":")
        content = self._files[f"blobs/{algorithm}/{digest}"]
        assert (hashlib.sha256(content).hexdigest(), len(content)) == (digest, entry["size"])
        return content

    def unpack(self, into: pathlib.Path) -> pathlib.Path:
        with tarfile.open(fileobj=io.BytesIO(self.layer)) as tar:
            tar.extractall(into)
        return into


@functools.cache
def manifest(kind: str) -> dict:
    return yaml.safe_load((MANIFESTS / f"{kind.lower()}.yaml").read_text())


def config_map() -> dict[str, str]:
    return manifest("ConfigMap")["data"]


class ContainerExporter(Exporter):
    """The DaemonSet's container on `image`, as a node runs it; `places`: where its folders of the host are here."""

    def __init__(self, log_dir: pathlib.Path, name: str, image: Image, rootfs: pathlib.Path, places: dict[str, object],
                 *options: str):
        pod = manifest("DaemonSet")["spec"]["template"]["spec"]
        assert pod["hostPID"] and pod["hostNetwork"]
        [spec] = pod["containers"]
        security = spec["securityContext"]
        assert security["capabilities"]["drop"] == ["ALL"] and security["readOnlyRootFilesystem"]
        sources = {volume["name"]: volume.get("hostPath", {}).get("path", volume["name"]) for volume in pod["volumes"]}
        mounts = [bind(places.get(sources[each["name"]], sources[each["name"]]), each["mountPath"],
                       each.get("readOnly", False)) for each in spec["volumeMounts"]]
        self.container = Container(log_dir, name, rootfs, mounts, ["mount", "ipc"], security["capabilities"]["add"])
        config = image.config["config"]
        chosen = {option.split("=")[0] for option in options}
        usual = [word for word in spec["args"] if word.split("=")[0] not in chosen]
        words = [*config["Entrypoint"], *usual, "--web.listen-address=127.0.0.1:0", *options]
        environment = dict(word.split("=", 1) for word in config["Env"])
        self.process = self.container.run(words, environment, log_dir)
        match = self.process.wait_for(r"listening on 127\.0\.0\.1:(\d+)", "stderr", timeout=60)
        self.port = int(match[1])

    @property
    def pid(self) -> int:
        return self.container.pid

    def stop(self) -> int:
        os.kill(self.container.pid, signal.SIGTERM)
        return self.process.wait_exit(60)
