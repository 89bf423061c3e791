"""The same results with and without the workers of a Ray cluster, also where a worker dies or cannot do its work."""

import operator
import os
import signal
import socket
import sys
from functools import partial

import pytest

from bgr import __version__
from bgr.errors import BgrError, DataError
from bgr.utils import ray_map
from bgr.utils.options import OptionsError
from bgr.utils.ray_map import RayOptions, anywhere, map_work


def load(kind, folder):
    """The function of an item; cloudpickle takes it along, since workers cannot import the tests."""

    def work(number):
        if number == 3 and kind == "bad":
            raise DataError("the file of 3: cannot be read")
        if number == 3 and kind == "bug":
            return 1 / 0
        if number == 3 and kind == "dies" and not (folder / "died").exists():
            (folder / "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number**2, os.getpid()

    if kind == "unloadable":
        raise DataError("the folder: no checkpoint")
    return work


@pytest.mark.parametrize("options", [None, RayOptions()])
def test_without_an_address_it_is_a_map_in_this_process(options):
    found = map_work(lambda: partial(pow, 2), [1, 5], options)
    assert (next(found), next(found)) == (2, 32)


@pytest.mark.parametrize("address", ["", "here", "ray://host:10001", "http://host:1", "host", "host:port", "a b:1"])
def test_addresses_that_are_not_allowed(address):
    with pytest.raises(OptionsError, match="allowed: local, auto, or HOST:PORT of a cluster"):
        RayOptions(ray=address)
    with pytest.raises(OptionsError, match="--ray-workers is a number of workers of --ray, which is missing"):
        RayOptions(ray_workers=2)


def test_without_the_package_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(BgrError, match=r"^--ray: [^\n]*\(pip install 'bgr\[scale\]'\)$"):
        list(map_work(lambda: abs, [1], RayOptions(ray="local")))


@pytest.mark.parametrize(
    ("resources", "workers", "gpu", "found"),
    [
        ({"CPU": 8}, None, True, (4, {"num_cpus": 2})),
        ({"CPU": 8}, 3, True, (3, {"num_cpus": 2})),
        ({"CPU": 9, "GPU": 2}, None, True, (2, {"num_cpus": 2, "num_gpus": 1})),
        ({"CPU": 9, "GPU": 2}, None, False, (4, {"num_cpus": 2})),
    ],
)
def test_room_for_workers(resources, workers, gpu, found):
    assert ray_map._room(resources, workers, 2, gpu=gpu) == found


@pytest.mark.parametrize(("resources", "workers"), [({"CPU": 8}, 5), ({"CPU": 1}, None), ({"CPU": 8, "GPU": 1}, 2)])
def test_too_many_workers(resources, workers):
    with pytest.raises(BgrError, match=r"--ray-workers: \d wanted, allowed: up to \d; the cluster has [18] cores"):
        ray_map._room(resources, workers, 2, gpu=True)


def test_paths_are_absolute_and_other_texts_stay(tmp_path, monkeypatch):
    (tmp_path / "reader").mkdir()
    monkeypatch.chdir(tmp_path)
    assert anywhere("reader") == str(tmp_path / "reader")
    assert anywhere("smollm2") == "smollm2"


@pytest.mark.workflow
def test_no_cluster_answers():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(BgrError, match=rf"^--ray 127\.0\.0\.1:{port}: no cluster answers there: [^\n]+$"):
        list(map_work(lambda: abs, [1], RayOptions(ray=f"127.0.0.1:{port}")))


@pytest.fixture(scope="module")
def two_machines():
    """The address of a cluster of two nodes with one core each."""
    from ray import cloudpickle
    from ray.cluster_utils import Cluster

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    # A machine on which other tests take all cores may be silent for long. After a minute or two Ray would end its own
    # processes, and this one with them.
    patient = {
        "health_check_timeout_ms": 300_000,
        "gcs_rpc_server_reconnect_timeout_s": 300,
        "agent_register_timeout_ms": 300_000,
        "raylet_client_num_connect_attempts": 300,  # one a second
    }
    head = {"num_cpus": 0, "include_dashboard": False, "_system_config": patient}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    for _ in range(2):
        cluster.add_node(num_cpus=1, include_dashboard=False)
    yield cluster.address
    cluster.shutdown()


@pytest.mark.workflow
@pytest.mark.alone
def test_two_workers_of_a_cluster(two_machines, tmp_path):
    import ray

    options, here = RayOptions(ray=two_machines, ray_workers=2), partial(load, "", tmp_path)
    found = list(map_work(here, range(9), options))
    assert [square for square, _ in found] == [square for square, _ in map_work(here, range(9))]
    assert len({process for _, process in found} - {os.getpid()}) == 2
    assert not ray.is_initialized()
    assert list(map_work(here, [], options)) == []
    found = list(map_work(partial(load, "dies", tmp_path), range(9), options))
    assert [square for square, _ in found] == [number**2 for number in range(9)]
    assert (tmp_path / "died").exists()
    for kind, error, said in (
        ("bad", DataError, "^the file of 3: cannot be read$"),
        ("unloadable", DataError, "^the folder: no checkpoint$"),
        ("bug", ray.exceptions.RayTaskError, "division by zero"),
    ):
        with pytest.raises(error, match=said):
            list(map_work(partial(load, kind, tmp_path), range(9), options))
    with pytest.raises(BgrError, match="--ray-workers: 3 wanted, allowed: up to 2; the cluster has 2 cores"):
        list(map_work(here, [1], RayOptions(ray=two_machines, ray_workers=3)))
    ray.init(two_machines, log_to_driver=False)  # a cluster that the caller has joined stays
    assert list(map_work(lambda: operator.neg, [1, 2], options)) == [-1, -2]
    assert ray.is_initialized()
    ray.shutdown()


@pytest.mark.workflow
@pytest.mark.alone
def test_a_worker_with_another_version_is_refused(two_machines, monkeypatch):
    monkeypatch.setattr(ray_map, "_version", lambda: "0.0.1")
    with pytest.raises(BgrError, match=rf"a worker of Ray on \S+ has bgr {__version__}, allowed: 0\.0\.1, as here"):
        list(map_work(lambda: abs, [1], RayOptions(ray=two_machines)))


@pytest.mark.workflow
@pytest.mark.alone
def test_workers_on_this_machine():
    import ray

    assert list(map_work(lambda: operator.neg, range(5), RayOptions(ray="local", ray_workers=2))) == [0, -1, -2, -3, -4]
    assert not ray.is_initialized()
