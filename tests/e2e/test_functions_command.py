"""ioc_exporter functions: what it lists of a real IOC, and what it counts while it looks; what a file would give."""
import json
import signal

import pytest

from harness import databases, env, modules
from harness.driver import Driver
from harness.exporter import run_exporter
from harness.process import Process

# The driver's own commands do not know when the counting begins.
LONG = "--for=10m"
WRITE = r"""
functions:
  - name: write
    file: '.*/libtest_driver\.so'
    symbol: driver_write
    labels: {port: 'arg0+8 -> string[32]', reason: 'arg1 -> int'}
    result: return -> int
"""

@pytest.fixture(scope="module")
def driver(shared, tmp_path_factory):
    return Driver(shared.ioc, tmp_path_factory.mktemp("orders"), "fncommand")


@pytest.fixture
def command(started, log_dir):
    def start(*words, prefix=()):
        return started.add(Process("functions", [*prefix, env.exporter_binary(), "functions", *words], log_dir))

    return start


def end(process) -> tuple[int, str]:
    """Of one that counts: it is interrupted."""
    process.popen.send_signal(signal.SIGINT)
    return process.wait_exit(), process.stdout()


def rows(listed: dict, library: str = "libtest_driver.so") -> dict[str, dict]:
    file = next(file for file in listed["files"] if file["FILE"].endswith(library))
    return {row["SYMBOL"]: row for row in file["FUNCTIONS"]}


def order(driver):
    """A number of calls of each, and that they are done."""
    driver.call("write", 23, 4, "P1", "/dev/a")
    driver.call("cxx", 19, 3)
    driver.call("throw", 40)
    driver.call("status", 1, 0)


def test_calls_while_it_looks_are_exact(driver, command, tmp_path):
    site = tmp_path / "site.yml"
    site.write_text(WRITE)
    looks = command(LONG, "--json", f"--config.file={site}", "fncommand", "*driver*")
    looks.wait_for("^counting for 10m$", "stderr")
    order(driver)
    driver.wait_done()
    status, out = end(looks)
    assert status == 0, looks.describe()
    listed = json.loads(out)
    assert (listed["ioc"], listed["pid"], listed["note"]) == ("fncommand", driver.ioc.pid, None)
    found = rows(listed)
    calls = {symbol: row["CALLS"] for symbol, row in found.items() if row["CALLS"]}
    assert calls == {"driver_write": 23, "driver_set_value": 19, "driver::Port::setValue(int)": 19, "driver_throw": 40,
                     "driver::read_twice(driver::Port&, int)": 40, "driver::Port::read(int)": 60, "driver_status": 1}
    assert found["driver_write"]["DESCRIBED BY"] == ["write"] and found["driver_throw"]["DESCRIBED BY"] == []
    assert found["driver_write"]["CALLS/S"] == pytest.approx(23 / listed["seconds"])
    assert found["driver_write"]["TIMED"] == "yes"
    assert all(row["SIZE"] > 0 for row in found.values())


def test_what_exceptions_enter(driver):
    listed = run_exporter("functions", "--for=1ms", "--json", "fncommand", "driver*")
    found = rows(json.loads(listed.stdout))
    unwinding = {symbol: row["UNWINDING"] for symbol, row in found.items()}
    assert unwinding["driver_throw"] == "lands"  # it catches
    assert unwinding["driver::read_twice(driver::Port&, int)"] == "passes"
    assert unwinding["driver_write"] == "passes"


def test_names_are_those_of_descriptions(driver):
    found = rows(json.loads(run_exporter("functions", "--for=1ms", "--json", "fncommand", "*twice*").stdout))
    assert set(found) == {"driver.c:twice", "driver_other.c:twice", "driver_twice", "driver_other_twice",
                          "driver::read_twice(driver::Port&, int)"}
    assert {row["CALLS"] for row in found.values()} == {0}  # each was found by its name, and counted
    both = rows(json.loads(run_exporter("functions", "--for=1ms", "--json", "fncommand", "driver::Port::setValue").stdout))
    assert set(both) == {"driver::Port::setValue(int)", "driver::Port::setValue(double)"}


def test_files_and_functions_for_people(driver):
    files = run_exporter("functions", "fncommand")
    assert files.returncode == 0 and files.stderr == ""
    lines = files.stdout.splitlines()
    assert lines[0] == f"ioc fncommand (pid {driver.ioc.pid})" and lines[2].split() == ["FILE", "FUNCTIONS", "NOTE"]
    assert any(line.split()[0].endswith("/libtest_driver.so") and int(line.split()[1]) > 20 for line in lines[3:])
    functions = run_exporter("functions", "--for=1ms", "fncommand", "driver_w*")
    assert functions.returncode == 0
    lines = functions.stdout.splitlines()
    assert lines[2].endswith("/libtest_driver.so")
    assert lines[3].split("  ")[0] == "SYMBOL" and lines[4].split()[0] == "driver_write"
    assert lines[4].split()[2:4] == ["passes", "0"]


def test_libraries_that_other_programs_use_are_listed_only(driver):
    listed = json.loads(run_exporter("functions", "--for=1ms", "--json", "fncommand", "epicsThreadGetId*").stdout)
    found = rows(listed, next(file["FILE"] for file in listed["files"] if "/libCom" in file["FILE"]))
    assert found["epicsThreadGetIdSelf"]["CALLS"] is None


def test_at_most_32_are_counted(driver):
    listed = json.loads(run_exporter("functions", "--for=1ms", "--json", "fncommand", "*").stdout)
    assert listed["note"] == "calls of the first 32 functions were counted"
    counted = [row for file in listed["files"] for row in file["FUNCTIONS"] if row["CALLS"] is not None]
    assert len(counted) == 32


def test_a_name_that_never_ends_is_not_waited_for(start_ioc):
    """The reader of that file is ended; files that come before it are listed."""
    preload = f"{env.tool('libtest_explodes.so')}:{env.tool('libtest_driver.so')}"
    ioc = start_ioc("fnexplodes", databases.put_targets("E:", 1), prefix=["env", f"LD_PRELOAD={preload}"])
    listed = run_exporter("functions", "--for=1ms", "--json", ioc.name, "driver_w*", timeout=300)
    assert listed.returncode == 0, listed.stderr
    listed = json.loads(listed.stdout)
    assert list(rows(listed)) == ["driver_write"]


def test_without_rights_it_lists(driver, command):
    caps = "-bpf,-perfmon,-sys_admin,-checkpoint_restore"
    looks = command("--json", "fncommand", "driver_w*",
                    prefix=["setpriv", f"--bounding-set={caps}", f"--inh-caps={caps}"])
    assert looks.wait_exit() == 0, looks.describe()
    listed = json.loads(looks.stdout())
    assert rows(listed)["driver_write"]["CALLS"] is None
    assert "calls were not counted: " in listed["note"] and listed["seconds"] == 0


def test_a_file_is_tried(driver, command, tmp_path):
    file = tmp_path / "mine.yml"
    file.write_text(WRITE)
    tries = command("try", LONG, file, "fncommand")
    tries.wait_for("^counting for 10m$", "stderr")
    driver.call("write", 23, 4, "P1")
    driver.call("write", 29, -4, "P2")
    driver.wait_done()
    status, out = end(tries)
    assert status == 0, tries.describe()
    assert 'epics_function_calls_total{ioc="fncommand",function="write",port="P1",reason="4"} 23\n' in out
    assert 'epics_function_calls_total{ioc="fncommand",function="write",port="P2",reason="-4"} 29\n' in out
    assert 'epics_function_failures_total{ioc="fncommand",function="write",port="P2",reason="-4",result="-1"} 29\n' in out
    assert "libtest_driver.so  driver_write  1     counted" in out
    assert "Not found" not in out


def test_what_is_not_found_is_said(driver, tmp_path):
    file = tmp_path / "mine.yml"
    file.write_text(WRITE + "  - {name: missing, file: '.*/libtest_driver.so', symbol: driver_wrote}\n"
                    "  - {name: elsewhere, file: '.*/libother.so', symbol: write}\n")
    tried = run_exporter("functions", "try", "--for=1ms", "--json", str(file))
    assert tried.returncode == 1
    said = json.loads(tried.stdout)
    assert said["missing"] == ["elsewhere", "missing"]
    states = {row["function"]: row["state"] for row in said["tables"]["Functions"]}
    assert states["missing"] == "no function of the file is called so" and states["write"] == "counted"


def test_what_ships_can_be_tried(start_ioc, command):
    ioc = modules.start(start_ioc, "fncommand_modules", databases.put_targets("T:", 1))
    ioc.shell("saveSet auto_settings.sav 4 0 1000000000")
    tries = command("try", LONG, env.TOOLS_SOURCE_DIR.parent.parent / "functions" / "autosave.yaml", ioc.name)
    tries.wait_for("^counting for 10m$", "stderr")
    ioc.shell("saveFiles auto_settings.sav 23 4")
    status, out = end(tries)
    assert status == 0, tries.describe()
    assert f'epics_autosave_saves_total{{ioc="{ioc.name}",file="auto_settings.sav"}} 27\n' in out
    assert f'epics_autosave_status{{ioc="{ioc.name}",file="auto_settings.sav"}} 4\n' in out
    assert "Lists in memory\n" in out and "1 found" in out


@pytest.mark.parametrize("words, status, problem", [
    ([], 2, "no IOC was given (see ioc_exporter functions --help)"),
    (["try"], 2, "no file was given (see ioc_exporter functions --help)"),
    (["a", "b", "c"], 2, 'unexpected argument "c" (see ioc_exporter functions --help)'),
    (["--for=2h", "a"], 2, '--for: "2h" is not up to 1h (see ioc_exporter functions --help)'),
    (["--for=0", "a"], 2, '--for: "0" is not up to 1h (see ioc_exporter functions --help)'),
    (["--overhead.budget=many", "a"], 2, "--overhead.budget"),
    (["try", "/nowhere/a.yml"], 1, "/nowhere/a.yml"),
    (["fncommand", "no_such*"], 1, 'no function of ioc fncommand is called "no_such*"'),
])
def test_errors(driver, words, status, problem):
    done = run_exporter("functions", *words)
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.startswith("ioc_exporter functions: ") and problem in done.stderr


def test_unknown_iocs_are_told_those_that_run(driver):
    done = run_exporter("functions", "fnabsent")
    assert done.returncode == 1 and 'no IOC is called "fnabsent": there are ' in done.stderr
    assert "fncommand" in done.stderr


def test_a_file_without_descriptions(driver, tmp_path):
    file = tmp_path / "empty.yml"
    file.write_text("site: {area: ring}\n")
    done = run_exporter("functions", "try", str(file))
    assert done.returncode == 1 and "describes no functions and no walks" in done.stderr
    file.write_text("functions: [{name: a}]\n")
    done = run_exporter("functions", "try", str(file))
    assert done.returncode == 1 and "functions[0]: file is missing" in done.stderr
