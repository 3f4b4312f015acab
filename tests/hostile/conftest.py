"""Attacks beside a real IOC. The fixtures are those of tests/e2e, and pytest runs there."""
import importlib.util
import pathlib
import sys

_E2E = pathlib.Path(__file__).resolve().parent.parent / "e2e"
sys.path.insert(0, str(_E2E))
_spec = importlib.util.spec_from_file_location("e2e_conftest", _E2E / "conftest.py")
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
globals().update({name: value for name, value in vars(_module).items() if not name.startswith("__")})

from neighbours import fake_ioc, make_noise, map_sparse_files, network, silent_file  # noqa: E402,F401
