"""Start-up and usage errors: one clear line, and the right exit status."""
import os

from harness.exporter import run_exporter, run_exporter_as_nobody


def error_line(result) -> str:
    """The last line on stderr; what failed is said there, whatever was logged before."""
    lines = result.stderr.strip().splitlines()
    assert lines, f"status {result.returncode} and no word on stderr: {result}"
    return lines[-1]


def test_bad_flag():
    result = run_exporter("--no-such-option")
    assert (result.returncode, result.stdout) == (2, ""), result
    assert "no-such-option" in result.stderr


def test_configuration_files_that_cannot_be_used(tmp_path):
    """One is wrong; to the other, which is a FIFO, nobody ever writes."""
    bad, fifo = tmp_path / "bad.yml", tmp_path / "fifo"
    bad.write_text("limits:\n  put: {series: 5}\n")
    os.mkfifo(fifo)
    for file, why in ((bad, f"{bad}:2:3: limits.put: no such key"), (fifo, f"{fifo}: not a regular file")):
        for command in ([], ["--config.check"]):
            result = run_exporter(f"--config.file={file}", *command)
            assert (result.returncode, why in result.stderr) == (1, True), result


def test_too_few_descriptors():
    result = run_exporter("--once=1s", prefix=["prlimit", "--nofile=511:511"])
    assert result.returncode == 1, result
    assert "open as many files as the host allows: 511, and it needs 512: raise LimitNOFILE=" in error_line(result)


def test_not_root():
    result = run_exporter_as_nobody("--web.listen-address=127.0.0.1:0")
    assert result.returncode == 1, result
    assert any(word in error_line(result).lower() for word in ("root", "permi", "cap_"))
