"""Where the tests find what they run. ctest passes these; test.sh makes the test environment."""
import functools
import os
import pathlib
import shutil
import tempfile

import pytest

E2E_DIR = pathlib.Path(__file__).resolve().parent.parent
TOOLS_SOURCE_DIR = E2E_DIR.parent / "tools"
# The Base version that Python's IOCs run; the others run through ioc_launcher.
PYTHON_BASE = "7.0.10"
NOBODY = 65534  # a user without rights


def _required(name: str) -> pathlib.Path:
    value = os.environ.get(name)
    if not value:
        pytest.fail(f"{name} is not set: run ./test.sh, or ctest in its build directory")
    return pathlib.Path(value)


def exporter_binary() -> pathlib.Path:
    return _required("IOC_EXPORTER_BIN")


def tool(name: str) -> pathlib.Path:
    """A program that tests/tools/CMakeLists.txt builds."""
    return _required("IOC_EXPORTER_TOOLS") / name


@functools.cache
def _open_folder() -> tempfile.TemporaryDirectory:
    folder = tempfile.TemporaryDirectory(prefix="ioc_exporter-test-")
    os.chmod(folder.name, 0o755)
    return folder


@functools.cache
def for_any_user(path: pathlib.Path) -> pathlib.Path:
    """A copy of a program or script that every user may run: only root may be able to enter the checkout's folder."""
    copy = pathlib.Path(shutil.copy(path, _open_folder().name))
    copy.chmod(0o755)
    return copy


def test_env() -> pathlib.Path:
    return _required("IOC_EXPORTER_TEST_ENV")


def python() -> pathlib.Path:
    return test_env() / "venv" / "bin" / "python"


def base_dir(version: str) -> pathlib.Path:
    """The directory of one Base version that holds lib/, include/ and dbd/."""
    directory = test_env() / "base" / version / "epicscorelibs"
    if not directory.is_dir():
        pytest.skip(f"EPICS Base {version} is not in the test environment")
    return directory
