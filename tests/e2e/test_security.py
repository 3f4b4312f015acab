"""Rights of the running exporter, and of its processes."""
import os
import pathlib
import signal
import subprocess

import pytest

from harness import databases, env
from harness.exporter import run_exporter
from harness.process import Process
from harness.scrape import PROCESSED
from harness.waiting import wait_until

# linux/capability.h
DAC_READ_SEARCH, NET_RAW, SYS_PTRACE, SYS_ADMIN = 2, 13, 19, 21
PERFMON, BPF, CHECKPOINT_RESTORE = 38, 39, 40
KEPT = [DAC_READ_SEARCH, SYS_PTRACE, BPF, CHECKPOINT_RESTORE]
READERS = [DAC_READ_SEARCH, SYS_PTRACE, CHECKPOINT_RESTORE]
# Where uprobes are attached by links (Linux 6.13), nobody needs CAP_SYS_ADMIN.
BY_LINKS = ", uprobe links" in run_exporter("--version").stdout
HELPERS = {"ioc_exp-attach": [NET_RAW, PERFMON, BPF, *READERS, *([] if BY_LINKS else [SYS_ADMIN])]}


def read_each(pid: int, name: str) -> list[str]:
    """That file of each thread, but for those that have ended since they were listed."""
    texts = []
    for path in pathlib.Path(f"/proc/{pid}/task").glob(f"*/{name}"):
        try:
            texts.append(path.read_text())
        except (FileNotFoundError, ProcessLookupError):
            continue
    return texts


def threads_of(pid: int) -> list[dict[str, str]]:
    """Fields of status -> value."""
    return [dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
            for text in read_each(pid, "status")]


def mask(capabilities: list[int]) -> str:
    return f"{sum(1 << each for each in capabilities):016x}"


def helpers_of(pid: int) -> dict[str, int]:
    """Name -> pid, of its children."""
    pids = [int(child) for text in read_each(pid, "children") for child in text.split()]
    return {pathlib.Path(f"/proc/{each}/comm").read_text().strip(): each for each in pids}


def processes_of(pid: int) -> list[tuple[str, int]]:
    """Name and pid of all that it has forked, theirs too."""
    children = [int(child) for text in read_each(pid, "children") for child in text.split()]
    return [one for child in children
            for one in ((pathlib.Path(f"/proc/{child}/comm").read_text().strip(), child), *processes_of(child))]


def limits_of(pid: int) -> dict[str, list[str]]:
    """Name -> [soft, hard]."""
    lines = pathlib.Path(f"/proc/{pid}/limits").read_text().splitlines()[1:]
    return {line[:26].strip(): line[26:].split()[:2] for line in lines}


def read_uid(pid: int) -> int:
    return int(pathlib.Path(f"/proc/{pid}/status").read_text().split("Uid:")[1].split()[0])


def check_rights(thread: dict[str, str], kept: list[int]) -> None:
    assert "0" not in thread["Uid"].split() + thread["Gid"].split(), thread
    for which, left in (("CapEff", kept), ("CapPrm", kept), ("CapBnd", kept), ("CapInh", []), ("CapAmb", [])):
        assert thread[which] == mask(left), (which, thread)
    assert (thread["NoNewPrivs"], thread["Seccomp"], thread["Groups"].strip()) == ("1", "2", "")


def test_rights_that_are_left(start_exporter, start_ioc):
    """Each thread has the capabilities that the documentation names and no more, and with them an IOC that
    starts later is found, read and counted."""
    exporter = start_exporter("--ioc.include=confined")
    threads = threads_of(exporter.pid)
    assert len(threads) > 1
    for thread in threads:
        check_rights(thread, KEPT)
    helpers = helpers_of(exporter.pid)
    assert set(helpers) == set(HELPERS)
    for name, pid in helpers.items():
        (thread,) = threads_of(pid)
        check_rights(thread, HELPERS[name])
    ioc = start_ioc("confined", databases.counting(), macros="P=SEC:")
    exporter.wait_up(ioc)
    ioc.process_once("SEC:trigger", 23)
    exporter.wait_scrape(lambda scrape: scrape.count(PROCESSED, ioc=ioc.name, record="SEC:trigger") == 23,
                         "23 processings")
    readers = helpers_of(helpers["ioc_exp-attach"])
    assert set(readers) == {"ioc_exp-read"}
    for pid in readers.values():
        (thread,) = threads_of(pid)
        assert (thread["CapEff"], thread["CapPrm"], thread["Seccomp"]) == (mask(READERS), mask(READERS), "2")
        assert len(list(pathlib.Path(f"/proc/{pid}/fd").glob("[3-9]*"))) <= 2, "its socket, and what it reads"
    assert exporter.stop() == 0
    wait_until(lambda: not any(pathlib.Path(f"/proc/{pid}").exists() for pid in helpers.values()),
               "the helpers end with it")


@pytest.fixture
def with_all_processes(start_exporter, start_ioc, tmp_path):
    """An exporter that has each process that it can have."""
    folders = {name: tmp_path / name for name in ("log", "state")}
    for folder in folders.values():
        folder.mkdir(mode=0o750)
    exporter = start_exporter("--ioc.include=all-processes", "--collector.putlog", f"--state.directory={folders['state']}",
                              f"--putlog.file={folders['log']}/puts.jsonl")
    exporter.wait_up(start_ioc("all-processes", databases.counting(), macros="P=ALL:"))
    processes = processes_of(exporter.pid)
    assert {name for name, _ in processes} == {f"ioc_exp-{name}" for name in ("attach", "read", "keep", "deliver")}
    return exporter, processes


def test_limits_of_each_process(with_all_processes):
    exporter, processes = with_all_processes
    for name, pid in [("ioc_exporter", exporter.pid), *processes]:
        limits = limits_of(pid)
        files, data = limits["Max open files"], limits["Max data size"]
        assert files[0] == files[1], (name, files)
        if name in ("ioc_exp-attach", "ioc_exp-read"):
            assert data[0] == data[1] and 512 << 20 <= int(data[0]) < 1 << 30, (name, data)
        else:
            assert data == limits_of(os.getpid())["Max data size"], (name, data)


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_no_process_outlives_it(with_all_processes, end):
    """However busy it is: one that is stopped looks at nothing."""
    exporter, processes = with_all_processes
    for name, pid in processes:
        if name != "ioc_exp-keep":  # which only waits
            os.kill(pid, signal.SIGSTOP)
    os.kill(exporter.pid, end)
    assert exporter.process.wait_exit(60) == (0 if end == signal.SIGTERM else -end)
    wait_until(lambda: not [name for name, pid in processes if pathlib.Path(f"/proc/{pid}").exists()],
               "all of its processes end", 60)


def test_no_user_is_shared(start_exporter):
    """Its processes have ids that only exporters have, so that nothing else but root can send them a signal."""
    exporter = start_exporter("--no-collector.records")
    ours = [exporter.pid, *helpers_of(exporter.pid).values()]
    own = {read_uid(pid) for pid in ours}
    assert len(own) == 1 and not own & {0, 65534}
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            uid, name = read_uid(int(path.name)), (path / "comm").read_text().strip()
        except (FileNotFoundError, ProcessLookupError):
            continue
        assert uid not in own or name.startswith("ioc_exp"), (path, name)

    def as_nobody():
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)

    for signalled in ours:
        daemon = subprocess.run(["kill", "-USR1", str(signalled)], preexec_fn=as_nobody, capture_output=True,
                                text=True)
        assert daemon.returncode != 0 and "not permitted" in daemon.stderr
    assert exporter.scrape().value("ioc_exporter_detached") == 0


def test_lost_helper_ends_it(start_exporter):
    """Nothing is counted any more then, which a page would not show; the service manager starts it again."""
    exporter = start_exporter("--no-collector.records")
    os.kill(helpers_of(exporter.pid)["ioc_exp-attach"], signal.SIGKILL)
    assert exporter.process.wait_exit(60) == 1
    assert "the helper process ioc_exp-attach has ended" in exporter.process.stderr()


def test_the_delivery_process_may_be_lost(start_exporter, tmp_path):
    """It is started again, or only what it delivers suffers; and nobody but root and the exporter's own user can end it."""
    folder = tmp_path / "log"
    folder.mkdir(mode=0o750)
    options = ["--no-collector.records", "--collector.putlog", f"--putlog.file={folder}/puts.jsonl"]
    exporter = start_exporter(*options)
    keeper = helpers_of(exporter.pid)["ioc_exp-keep"]
    first = helpers_of(keeper)["ioc_exp-deliver"]
    os.kill(first, signal.SIGKILL)
    exporter.wait_scrape(lambda page: page.count("ioc_exporter_dropped_total", probe="delivery", reason="restart") == 1,
                         "it is started again")
    assert "delivery: 1 × restart" in exporter.request("/")[2].decode()
    second = helpers_of(keeper)["ioc_exp-deliver"]
    assert second != first
    for pid in (keeper, second):
        os.kill(pid, signal.SIGKILL)
    ticks = exporter.scrape().value("ioc_exporter_loop_ticks_total")
    exporter.wait_scrape(lambda page: page.value("ioc_exporter_loop_ticks_total") >= ticks + 3, "it goes on")
    assert "ioc_exp-keep has ended" in exporter.request("/")[2].decode()
    assert "ioc_exp-keep has ended" in exporter.process.stderr()
    assert exporter.stop() == 0
    os.chown(folder, 12345, 12345)
    refused = run_exporter(*options, "--web.listen-address=127.0.0.1:0")
    assert refused.returncode == 1
    assert "it belongs to user 12345, not to root or the exporter's own user" in refused.stderr


def test_files_that_are_left_open(started, log_dir):
    """None to write to, but for what it was started with, and none of whoever started it."""
    shell = 'exec 7>/dev/null 8</etc/passwd; exec "$0" "$@"'
    exporter = started.add(Process("inheriting", [
        "/bin/bash", "-c", shell, env.exporter_binary(), "--web.listen-address=127.0.0.1:0",
        "--no-collector.records"], log_dir))
    exporter.wait_for("listening on", "stderr", timeout=60)
    for pid in [exporter.pid, *helpers_of(exporter.pid).values()]:
        for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
            try:
                target = os.readlink(entry)
                info = (entry.parent.parent / "fdinfo" / entry.name).read_text()
            except FileNotFoundError:  # closed since it was listed
                continue
            if int(entry.name) <= 2 or not target.startswith("/"):
                continue
            assert target not in ("/dev/null", "/etc/passwd"), pid
            assert int(info.split("flags:")[1].split()[0], 8) & os.O_ACCMODE == os.O_RDONLY, (pid, target)


def test_rights_may_be_fewer_or_kept(start_exporter):
    few = start_exporter("--no-collector.records", "--security.capabilities=net_raw,bpf",
                         "--security.user=12345", "--no-security.sandbox")
    all_of_them = start_exporter("--no-collector.records", "--security.capabilities=all",
                                 "--security.user=root", "--no-security.sandbox")
    for thread in threads_of(few.pid):
        assert thread["Uid"].split() == ["12345"] * 4
        assert (thread["CapEff"], thread["Seccomp"]) == (mask([NET_RAW, BPF]), "0")
    own = threads_of(os.getpid())[0]
    for thread in threads_of(all_of_them.pid):
        assert thread["Uid"].split() == ["0"] * 4
        assert (thread["CapEff"], thread["Seccomp"]) == (own["CapEff"], "0")
    # It says what it cannot do any more.
    few.wait_scrape(lambda scrape: scrape.value("ioc_exporter_collector_success", collector="discovery") == 0,
                    "discovery that says that it cannot look")
    assert "run as root, with CAP_SYS_PTRACE" in few.process.stderr()
