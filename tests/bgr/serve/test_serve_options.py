"""Options of `bgr serve`, and what is refused before anything is loaded."""

import socket

import pytest

from bgr.cli import main
from bgr.collection.collection import Collection
from bgr.errors import BgrError
from bgr.serve.options import ServeOptions
from bgr.serve.server import address, listening
from bgr.serve.sources import EXAMPLES, open_sources
from bgr.utils.options import OptionsError


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.0.0.2"])
def test_loopback(host):
    assert ServeOptions(host=host).is_local


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.7", "example.org"])
def test_other_addresses_need_a_token_or_consent(host, monkeypatch):
    with pytest.raises(OptionsError, match="can be reached by other machines; set BGR_TOKEN"):
        ServeOptions(host=host)
    assert not ServeOptions(host=host, open=True).is_local
    monkeypatch.setenv("BGR_TOKEN", "secret")
    assert ServeOptions(host=host).token == "secret"


def test_the_line_break_at_the_end_of_a_token_from_a_file_is_none_of_it(monkeypatch):
    monkeypatch.setenv("BGR_TOKEN", "secret\n")
    assert ServeOptions().token == "secret"
    monkeypatch.setenv("BGR_TOKEN", "\n")
    with pytest.raises(OptionsError, match="set BGR_TOKEN"):
        ServeOptions(host="0.0.0.0")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"collection": ("films",)}, "--collection: 'films': allowed: NAME=DIR"),
        ({"collection": ("a/b=c",)}, "--collection: 'a/b=c': allowed: NAME=DIR"),
        ({"collection": ("a=b", "a=c")}, "--collection: 'a=c': the name 'a' is taken"),
        ({"system": ("bm25=c",)}, "--system: 'bm25=c': the name 'bm25' is taken"),
        ({"port": 70_000}, "--port: 70000: allowed: 0 to 65535"),
        ({"timeout": 0}, "--timeout: 0: allowed: 0.1 to 3600"),
    ],
)
def test_wrong_options(options, problem):
    with pytest.raises(OptionsError) as error:
        ServeOptions(**options)
    assert problem in str(error.value)


def test_a_taken_port_is_one_line(capsys):
    with listening("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        assert main(["serve", "--port", str(port)]) == 1
    assert f"cannot listen on 127.0.0.1 port {port}" in capsys.readouterr().err


def test_addresses():
    with listening("127.0.0.1", 0) as listener:
        assert address(listener) == f"http://127.0.0.1:{listener.getsockname()[1]}"
    with (
        pytest.raises(BgrError, match=r"cannot listen on no\.such\.host\.invalid port 1"),
        listening("no.such.host.invalid", 1),
    ):
        pass
    if socket.has_ipv6:
        with listening("::1", 0) as listener:
            assert address(listener).startswith("http://[::1]:")


@pytest.mark.parametrize("host", ["a..b", f"{'a' * 64}.b"])
def test_a_host_that_is_no_name_is_one_line(host):
    with pytest.raises(BgrError, match=f"cannot listen on {host} port 0: ") as error, listening(host, 0):
        pass
    assert "\n" not in str(error.value)


def test_missing_folders_are_told_before_anything_is_loaded(tmp_path, pruned_checkpoint):
    for options, named in (
        ({"checkpoint": tmp_path / "none"}, "none/bgr.json"),
        ({"system": (f"old={tmp_path / 'gone'}",)}, "gone/bgr.json"),
        ({"checkpoint": pruned_checkpoint, "collection": (f"films={tmp_path / 'films'}",)}, "films"),
        ({"checkpoint": pruned_checkpoint, "examples": tmp_path / "data"}, "data"),
    ):
        with pytest.raises(BgrError, match=named):
            open_sources(ServeOptions(**options))


def test_two_systems_and_a_dataset(pruned_checkpoint, toy_data, tmp_path):
    films = Collection.build(["Rome lies in Italy ."], tmp_path / "films", encoder=None)
    found = open_sources(
        ServeOptions(
            checkpoint=pruned_checkpoint,
            system=(f"second={pruned_checkpoint}",),
            collection=(f"films={films.folder}",),
            examples=toy_data,
        )
    )
    assert list(found.systems) == ["bgr", "second", "bm25"]
    assert found.systems["second"].description.endswith(f"the checkpoint {pruned_checkpoint.name}")
    assert len(found.examples) == 10
    assert list(found.collections) == ["films"]


def test_the_packaged_examples():
    lines = EXAMPLES.read_text(encoding="utf-8").splitlines()
    assert 10 <= len(lines) <= 30
