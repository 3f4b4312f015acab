"""Start-up and usage errors: one clear line, the right exit status, and nothing left behind."""
import socket

from harness.exporter import run_exporter, run_exporter_as_nobody


def error_line(result) -> str:
    """The last line on stderr; what failed is said there, whatever was logged before."""
    lines = result.stderr.strip().splitlines()
    assert lines, f"status {result.returncode} and no word on stderr: {result}"
    return lines[-1]


def test_bad_flag():
    result = run_exporter("--no-such-option")
    assert result.returncode == 2, result
    assert "no-such-option" in result.stderr
    assert result.stdout == ""


def test_bad_option_values():
    for option, value in [("--discovery.interval", "often"), ("--web.listen-address", "nowhere:port"),
                          ("--log.level", "shouting"), ("--log.format", "xml")]:
        result = run_exporter(f"{option}={value}")
        assert result.returncode == 2, f"{option}={value}: {result}"
        assert value in error_line(result) or option.lstrip("-") in error_line(result)


def test_bad_regular_expression():
    for option in ("--ioc.include", "--ioc.exclude"):
        result = run_exporter(f"{option}=ps-(")
        assert result.returncode == 2, result
        assert "ps-(" in error_line(result)
        assert option.lstrip("-") in error_line(result)


def test_port_in_use():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = run_exporter(f"--web.listen-address=127.0.0.1:{port}")
    assert result.returncode == 1, result
    assert f"127.0.0.1:{port}" in error_line(result)
    assert "in use" in error_line(result).lower()


def test_too_few_descriptors():
    result = run_exporter("--once=1s", prefix=["prlimit", "--nofile=511:511"])
    assert result.returncode == 1, result
    assert "open as many files as the host allows: 511, and it needs 512: raise LimitNOFILE=" in error_line(result)


def test_not_root():
    result = run_exporter_as_nobody("--web.listen-address=127.0.0.1:0")
    assert result.returncode == 1, result
    assert any(word in error_line(result).lower() for word in ("root", "permi", "cap_"))


def test_version_and_help():
    version = run_exporter("--version")
    assert version.returncode == 0
    assert "ioc_exporter" in version.stdout
    text = run_exporter("--help")
    assert text.returncode == 0
    for option in ("--web.listen-address", "--web.telemetry-path", "--ioc.include", "--ioc.exclude",
                   "--ioc.name-source", "--discovery.interval", "--once", "--check", "--strict",
                   "--log.level", "--log.format", "--version", "--help"):
        assert option in text.stdout
