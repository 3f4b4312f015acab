"""Configuration files that are no files: nobody ever writes to a FIFO, so who waits for its writer hangs."""
import os
import signal

from harness.exporter import run_exporter

EXPORTER_OPTIONS = ["--no-collector.records"]


def test_a_fifo_is_refused_at_the_start(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for option in ("--config.file", "--web.config.file"):
        for command in ([], ["--config.check"]):
            result = run_exporter(f"{option}={fifo}", *command, *EXPORTER_OPTIONS)
            assert (result.returncode, f"{fifo}: not a regular file" in result.stderr) == (1, True)


def test_a_file_that_becomes_a_fifo(start_exporter, tmp_path):
    """HTTP goes on, with what was in force; and so does the end."""
    site, web = tmp_path / "site.yml", tmp_path / "web.yml"
    site.write_text("limits: {puts: {series: 5}}\n")
    web.write_text("http_server_config:\n  headers:\n    X-Frame-Options: deny\n")
    exporter = start_exporter(f"--config.file={site}", f"--web.config.file={web}", "--web.enable-lifecycle")
    for file in (site, web):
        file.unlink()
        os.mkfifo(file)
    status, _, body = exporter.request("/-/reload", "POST")
    assert (status, body.decode().count("not a regular file")) == (500, 2)
    status, headers, body = exporter.request("/metrics")
    assert (status, headers["x-frame-options"]) == (200, "deny")
    assert b"ioc_exporter_config_last_reload_successful 0\n" in body
    exporter.process.popen.send_signal(signal.SIGHUP)
    assert exporter.request("/")[0] == 200
    assert exporter.stop() == 0
