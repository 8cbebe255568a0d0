"""nginx with a configuration of a test's own, in one process."""

import pathlib
import socket
import subprocess

from harness.waiting import Failure, wait_for

FRAME = """daemon off; master_process off; user root root; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
    access_log off; client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
    uwsgi_temp_path {folder}; scgi_temp_path {folder}; keepalive_requests 1000000000;
{servers}
}}
"""


def answers(port):
    """Whether somebody listens there."""
    with socket.socket() as probe:
        return not probe.connect_ex(("127.0.0.1", port))


class Nginx:
    """`servers` are blocks of the http context, of which one listens on `port`. Is ended at the end of a `with`."""

    def __init__(self, folder, servers, port):
        folder = pathlib.Path(folder)
        configuration = folder / "nginx.conf"
        configuration.write_text(FRAME.format(folder=folder, servers=servers))
        with open(folder / "nginx.log", "wb") as log:
            # It warns of its compiled-in log, which it may not open, and of `user` where it is not root.
            command = ["nginx", "-p", folder, "-e", folder / "error.log", "-c", configuration]
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_for("nginx listens", lambda: answers(port) or self.process.poll() is not None, 20)
        if self.process.poll() is not None:
            raise Failure(f"nginx: {(folder / 'nginx.log').read_text()}")

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.process.terminate()
        self.process.wait()
