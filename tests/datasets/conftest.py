"""Files to read, and a stand-in for the public sources of the data sets, on this machine."""

import functools

import pytest

from tests.datasets.server import Server
from tests.datasets.upstream import all_sources
from torchrank.datasets import download, sources


@pytest.fixture
def public(tmp_path):
    """The folder of what is public: files by their names in the cache."""
    folder = tmp_path / "public"
    folder.mkdir()
    return folder


@pytest.fixture
def server(monkeypatch, public):
    """Serves ``public`` at the addresses of the sources; nothing waits between attempts."""

    def content(path):
        for source in all_sources():
            if path == f"/{source.repository}/{source.commit}/{source.path}":
                file = public / source.name
                return file.read_bytes() if file.is_file() else None
        return None

    server = Server(content)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(sources, "address", lambda *parts: "/".join([server.url, *parts]))
    monkeypatch.setattr(sources, "load", functools.partial(download.load, wait=lambda seconds: None))
    yield server
    server.close()


@pytest.fixture
def cached(monkeypatch, tmp_path):
    """The folder of the cache, empty at first."""
    monkeypatch.setenv("TORCHRANK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def write(tmp_path, request):
    """Writes a text into a file, by default with the name that the module gives as FILE, and returns its path."""

    def file(text, name=None):
        path = tmp_path / (request.module.FILE if name is None else name)
        path.write_text(text, encoding="utf-8")
        return path

    return file
