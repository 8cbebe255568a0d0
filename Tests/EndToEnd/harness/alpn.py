"""A server that negotiates HTTP/2 by ALPN, before one that speaks it without having been asked to, as Pushy's mock of APNs does:
libcurl, like Apple's servers, speaks HTTP/2 only where that was agreed on."""

import contextlib
import socket
import ssl
import threading


class AlpnRelay:
    """Passes each connection on to `port`; the certificate and its key are that server's own."""

    def __init__(self, port, certificate, key):
        self.port = port
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate, key)
        self.context.set_alpn_protocols(["h2"])
        self.onward = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.onward.check_hostname = False
        self.onward.verify_mode = ssl.CERT_NONE
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = "https://127.0.0.1:%d" % self.socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            connection, _ = self.socket.accept()
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with contextlib.suppress(OSError):
            client = self.context.wrap_socket(connection, server_side=True)
            server = self.onward.wrap_socket(socket.create_connection(("127.0.0.1", self.port)))
            threading.Thread(target=self._pass, args=(server, client), daemon=True).start()
            self._pass(client, server)

    def _pass(self, source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                target.sendall(data)
        for each in (source, target):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
