"""Downloads from a real server on this machine that truncates, interrupts, refuses and lies."""

import hashlib
import socket

import pytest

from tests.datasets.server import Server
from torchrank.datasets.download import RemoteFile, cache_folder, load, obtain

CONTENT = bytes(range(256)) * 1000
SHA = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = Server(lambda path: CONTENT)
    yield server
    server.close()


@pytest.fixture
def get(server, tmp_path):
    def fetch(sha256=SHA, **settings):
        waited = []
        path = obtain(
            RemoteFile("file.csv", f"{server.url}/file.csv", sha256),
            tmp_path,
            progress=False,
            wait=waited.append,
            **settings,
        )
        return path.read_bytes(), waited

    return fetch


def test_a_file_is_fetched_once(get, server):
    assert get() == (CONTENT, [])
    assert get() == (CONTENT, [])
    assert server.ranges == [None]


def test_an_answer_cut_off_is_resumed_where_it_stopped(get, server, tmp_path):
    server.behaviors = ["cut", "cut"]
    content, waited = get()
    assert content == CONTENT
    half = len(CONTENT) // 2
    assert server.ranges == [None, f"bytes={half}-", f"bytes={half + half // 2}-"]
    assert waited == [2, 4]
    assert [path.name for path in tmp_path.iterdir()] == ["file.csv"]


def test_an_interrupted_download_goes_on_in_the_next_call(get, server):
    server.behaviors = ["cut"] * 4
    with pytest.raises(FileNotFoundError, match="bytes arrived"):
        get()
    assert get()[0] == CONTENT
    assert server.ranges[-1] is not None


def test_servers_without_ranges_or_lengths(get, server):
    server.behaviors = ["cut", "no ranges"]
    assert get()[0] == CONTENT


def test_no_length(get, server):
    server.behaviors = ["no length"]
    assert get()[0] == CONTENT


def test_a_wrong_file_is_thrown_away_and_fetched_again(get, server):
    server.behaviors = ["lie"]
    assert get() == (CONTENT, [])


def test_a_file_that_stays_wrong_is_refused(get, server, tmp_path):
    server.behaviors = ["lie", "lie"]
    with pytest.raises(ValueError, match="holds another file than expected"):
        get()
    assert list(tmp_path.iterdir()) == []


def test_a_part_of_something_longer_is_thrown_away(get, tmp_path):
    (tmp_path / "file.csv.part").write_bytes(CONTENT + b"more")
    assert get()[0] == CONTENT


@pytest.mark.parametrize(("code", "requests"), [(404, 1), (503, 4)])
def test_refusals_say_what_to_do(get, server, tmp_path, code, requests):
    server.behaviors = [code] * 4
    with pytest.raises(FileNotFoundError, match=f"HTTP Error {code}.*by other means and put it at .*file.csv"):
        get()
    assert len(server.ranges) == requests


def test_a_passing_refusal_is_waited_for(get, server):
    server.behaviors = [503, 503]
    assert get() == (CONTENT, [2, 4])


def test_offline(get, server, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"is not there and download=False.*http"):
        get(download=False)
    (tmp_path / "file.csv").write_bytes(CONTENT)
    assert get(download=False) == (CONTENT, [])
    assert server.ranges == []


def test_a_damaged_copy_is_refused_offline_and_replaced_online(get, tmp_path):
    (tmp_path / "file.csv").write_bytes(CONTENT[:-1])
    with pytest.raises(ValueError, match="is not the file it should be"):
        get(download=False)
    assert get()[0] == CONTENT


@pytest.fixture
def read(server, tmp_path):
    """Load a file that must begin with the right bytes, of which no checksum is known."""

    def check(path):
        content = path.read_bytes()
        if not content.startswith(CONTENT[:256]):
            raise ValueError(f"it starts with {content[:6]!r}")
        return content

    def fetch(**settings):
        file = RemoteFile("set/file.csv", f"{server.url}/file.csv")
        return load(file, check, tmp_path, progress=False, wait=lambda _: None, **settings)

    return fetch


def test_what_is_read_is_returned_and_the_file_kept(read, server, tmp_path):
    assert read() == CONTENT
    assert read(download=False) == CONTENT
    assert len(server.ranges) == 1
    assert (tmp_path / "set" / "file.csv").read_bytes() == CONTENT


def test_a_file_that_cannot_be_read_is_fetched_again(read, server):
    server.behaviors = ["lie"]
    assert read() == CONTENT
    assert len(server.ranges) == 2


def test_a_file_that_still_cannot_be_read_is_refused_and_not_kept(read, server, tmp_path):
    server.behaviors = ["lie", "lie"]
    with pytest.raises(ValueError, match=r"b'<html>'.*file\.csv"):
        read()
    assert list((tmp_path / "set").iterdir()) == []


def test_what_was_there_stays_until_something_better_comes(read, server, tmp_path):
    (tmp_path / "set").mkdir()
    mine = tmp_path / "set" / "file.csv"
    mine.write_bytes(b"my own")
    with pytest.raises(ValueError, match=r"it starts with b'my own'.*http"):
        read(download=False)
    server.behaviors = ["lie", "lie"]
    with pytest.raises(ValueError, match="another file than expected"):
        read()
    assert mine.read_bytes() == b"my own"
    assert read() == CONTENT
    assert mine.read_bytes() == CONTENT


def test_no_server(tmp_path):
    file = RemoteFile("file.csv", "http://127.0.0.1:9/file.csv")
    with pytest.raises(FileNotFoundError, match=r"cannot be fetched .*put it at"):
        obtain(file, tmp_path, progress=False, wait=lambda _: None)


def test_without_a_network_the_message_comes_soon(monkeypatch, tmp_path, capsys):
    def resolve(*_, **__):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    waited = []
    file = RemoteFile("file.csv", "http://somewhere.invalid/file.csv")
    with pytest.raises(FileNotFoundError, match=r"cannot be fetched \(\[Errno -2\] Name or service not known\).*http"):
        obtain(file, tmp_path, wait=waited.append)
    assert waited == [2]
    assert "Name or service not known; trying again in 2 s" in capsys.readouterr().err


def test_the_cache_is_where_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.setenv("TORCHRANK_CACHE", str(tmp_path / "here"))
    assert cache_folder() == tmp_path / "here"
    monkeypatch.delenv("TORCHRANK_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "torchrank"


@pytest.mark.parametrize("length", ["many", "-5", "1_000", "", "12.5"])
def test_lengths_that_are_none(get, server, tmp_path, length):
    """B18: what a server says of the length is checked, tried again, and named."""
    server.behaviors = [f"length={length}"]
    assert get() == (CONTENT, [2])
    (tmp_path / "file.csv").unlink()
    server.behaviors = [f"length={length}"] * 4
    with pytest.raises(FileNotFoundError, match=f"file.csv cannot be fetched .*Content-Length of '{length}'.*put it"):
        get()


@pytest.mark.parametrize(
    "name",
    ["../file.csv", "a/../../file.csv", "..", "/etc/file.csv", "C:/file.csv", "..\\file.csv", "\\\\host\\a\\b", ""],
)
def test_names_that_lead_out_of_the_cache(name):
    """B18: nothing is written outside it."""
    with pytest.raises(ValueError, match="leads out of the cache"):
        RemoteFile(name, "http://127.0.0.1:9/file.csv")
    assert RemoteFile("a..b/c.csv", "http://127.0.0.1:9/file.csv").name == "a..b/c.csv"


def test_an_address_is_no_folder():
    with pytest.raises(ValueError, match=r"folder='https://somewhere/x' is an address.*fetch_apa"):
        obtain(RemoteFile("file.csv", "http://127.0.0.1:9/file.csv"), "https://somewhere/x")
