"""A web server on this machine that truncates, interrupts, refuses and lies when it is told to."""

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server:
    """Serves what ``content`` gives for a path; None is an error 404.

    Answers by the list of behaviors first: an error's number, "cut" (half of the body), "lie" (a login page), "no
    ranges", "no length", and "length=..." with what to say in place of a number. Keeps the paths and ranges that were
    asked for.
    """

    def __init__(self, content: Callable[[str], bytes | None]):
        self.content = content
        self.behaviors: list[str | int] = []
        self.paths: list[str] = []
        self.ranges: list[str | None] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.answer(self)

            def log_message(self, format, *args):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        wanted = request.headers.get("Range")
        self.ranges.append(wanted)
        self.paths.append(request.path)
        behavior = self.behaviors.pop(0) if self.behaviors else "whole"
        content = self.content(request.path)
        if isinstance(behavior, int) or content is None:
            request.send_error(behavior if isinstance(behavior, int) else 404)
            return
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and behavior != "no ranges" else 0
        if start and start >= len(content):
            request.send_error(416)
            return
        body = b"<html>please log in</html>" if behavior == "lie" else content[start:]
        request.send_response(206 if start else 200)
        if behavior != "no length":
            announced = behavior.removeprefix("length=") if behavior.startswith("length=") else str(len(body))
            request.send_header("Content-Length", announced)
        request.end_headers()
        request.wfile.write(body[: len(body) // 2] if behavior == "cut" else body)
