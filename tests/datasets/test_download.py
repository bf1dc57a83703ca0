"""Downloads from a real server on this machine that truncates, interrupts, refuses and lies."""

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from torchrank.datasets.download import RemoteFile, cache_folder, obtain

CONTENT = bytes(range(256)) * 1000
SHA = hashlib.sha256(CONTENT).hexdigest()


class Server:
    """Answers from a list of behaviours, then as it should; keeps what was asked for."""

    def __init__(self):
        self.behaviours, self.ranges = [], []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.answer(self)

            def log_message(self, format, *args):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/file.csv"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def answer(self, request):
        wanted = request.headers.get("Range")
        self.ranges.append(wanted)
        behaviour = self.behaviours.pop(0) if self.behaviours else "whole"
        if isinstance(behaviour, int):
            request.send_error(behaviour)
            return
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and behaviour != "no ranges" else 0
        if start >= len(CONTENT):
            request.send_error(416)
            return
        body = b"<html>please log in</html>" if behaviour == "lie" else CONTENT[start:]
        request.send_response(206 if start else 200)
        if behaviour != "no length":
            request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body[: len(body) // 2] if behaviour == "cut" else body)


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = Server()
    yield server
    server.http.shutdown()
    server.http.server_close()


@pytest.fixture
def get(server, tmp_path):
    def fetch(sha256=SHA, **settings):
        waited = []
        path = obtain(
            RemoteFile("file.csv", server.url, sha256), tmp_path, progress=False, wait=waited.append, **settings
        )
        return path.read_bytes(), waited

    return fetch


def test_a_file_is_fetched_once(get, server):
    assert get() == (CONTENT, [])
    assert get() == (CONTENT, [])
    assert server.ranges == [None]


def test_an_answer_cut_off_is_resumed_where_it_stopped(get, server, tmp_path):
    server.behaviours = ["cut", "cut"]
    content, waited = get()
    assert content == CONTENT
    half = len(CONTENT) // 2
    assert server.ranges == [None, f"bytes={half}-", f"bytes={half + half // 2}-"]
    assert waited == [2, 4]
    assert [path.name for path in tmp_path.iterdir()] == ["file.csv"]


def test_an_interrupted_download_goes_on_in_the_next_call(get, server):
    server.behaviours = ["cut"] * 4
    with pytest.raises(FileNotFoundError, match="bytes arrived"):
        get()
    assert get()[0] == CONTENT
    assert server.ranges[-1] is not None


def test_servers_without_ranges_or_lengths(get, server):
    server.behaviours = ["cut", "no ranges"]
    assert get()[0] == CONTENT


def test_no_length(get, server):
    server.behaviours = ["no length"]
    assert get()[0] == CONTENT


def test_a_wrong_file_is_thrown_away_and_fetched_again(get, server):
    server.behaviours = ["lie"]
    assert get() == (CONTENT, [])


def test_a_file_that_stays_wrong_is_refused(get, server, tmp_path):
    server.behaviours = ["lie", "lie"]
    with pytest.raises(ValueError, match="holds another file than expected"):
        get()
    assert list(tmp_path.iterdir()) == []


def test_a_part_of_something_longer_is_thrown_away(get, tmp_path):
    (tmp_path / "file.csv.part").write_bytes(CONTENT + b"more")
    assert get()[0] == CONTENT


@pytest.mark.parametrize(("code", "requests"), [(404, 1), (503, 4)])
def test_refusals_say_what_to_do(get, server, tmp_path, code, requests):
    server.behaviours = [code] * 4
    with pytest.raises(FileNotFoundError, match=f"HTTP Error {code}.*by other means and put it at .*file.csv"):
        get()
    assert len(server.ranges) == requests


def test_a_passing_refusal_is_waited_for(get, server):
    server.behaviours = [503, 503]
    assert get() == (CONTENT, [2, 4])


def test_offline(get, server, tmp_path):
    with pytest.raises(FileNotFoundError, match="is not there and download=False; get http"):
        get(download=False)
    (tmp_path / "file.csv").write_bytes(CONTENT)
    assert get(download=False) == (CONTENT, [])
    assert server.ranges == []


def test_a_damaged_copy_is_refused_offline_and_replaced_online(get, tmp_path):
    (tmp_path / "file.csv").write_bytes(CONTENT[:-1])
    with pytest.raises(ValueError, match="is not the file it should be"):
        get(download=False)
    assert get()[0] == CONTENT


def test_no_server(tmp_path):
    file = RemoteFile("file.csv", "http://127.0.0.1:9/file.csv")
    with pytest.raises(FileNotFoundError, match=r"cannot be fetched .*put it at"):
        obtain(file, tmp_path, progress=False, wait=lambda _: None)


def test_the_cache_is_where_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.setenv("TORCHRANK_CACHE", str(tmp_path / "here"))
    assert cache_folder() == tmp_path / "here"
    monkeypatch.delenv("TORCHRANK_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "torchrank"
