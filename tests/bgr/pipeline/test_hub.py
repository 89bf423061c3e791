"""Checkpoints on the Hub, against a double on loopback (conftest.py)."""

import json
from pathlib import Path

import pytest
import torch

from bgr.ask import checkpoint_path
from bgr.cli import main
from bgr.collection.collection import Collection
from bgr.errors import BgrError, CheckpointError
from bgr.models.pool_ranker import PoolRanker, RankerConfig
from bgr.pipeline import BgrPipeline
from bgr.released import checkpoint_folder
from bgr.retrievers.graph_hop.hub import FILES, is_hub_id
from bgr.retrievers.graph_hop.options import RANKER
from bgr.serve.options import ServeOptions
from bgr.serve.sources import open_sources

TOKEN = "hf_loopback"
FACTS = ["Paris lies in France .", "Rome lies in Italy .", "Persona was made in Sweden ."]
QUESTION = "In which country was Persona made ?"


@pytest.fixture(scope="module")
def pipeline(random_checkpoint):
    return BgrPipeline.from_pretrained(random_checkpoint, device="cpu", precision="32")


@pytest.fixture
def pushed(hub, pipeline):
    pipeline.push_to_hub("someone/films", token=TOKEN)
    return hub.repos["someone/films"]


def one_line(error):
    assert "\n" not in str(error.value)
    return str(error.value)


def test_what_is_pushed_is_what_is_loaded(hub, pipeline):
    url = pipeline.push_to_hub("someone/films", token=TOKEN, commit_message="First")
    assert url.endswith("/someone/films/commit/" + hub.repos["someone/films"].branches["main"])
    loaded = BgrPipeline.from_pretrained("someone/films", device="cpu", precision="32")
    assert loaded.answer(QUESTION, FACTS) == pipeline.answer(QUESTION, FACTS)
    # the large files went another way than the small ones
    assert any("/large/" in path for path in hub.requests)


def test_only_files_of_a_checkpoint_are_downloaded(pushed, hub, tmp_path):
    files = pushed.commits[pushed.branches["main"]]
    files |= {"pytorch_model.bin": b"cos\nsystem\n", "forward/model.pkl": b"x", "code.py": b"x"}
    BgrPipeline.from_pretrained("someone/films", cache_dir=tmp_path / "cache")
    names = {path.name for path in (tmp_path / "cache").rglob("*")}
    assert "bgr.json" in names
    assert not names & {"pytorch_model.bin", "model.pkl", "code.py"}


def test_the_commands_take_a_name_of_the_hub(hub, pruned_checkpoint, tmp_path, monkeypatch, capsys):
    BgrPipeline.from_pretrained(pruned_checkpoint, device="cpu").push_to_hub("someone/films", token=TOKEN)
    monkeypatch.chdir(tmp_path)
    Path("facts.txt").write_text("\n".join(FACTS))
    words = ["--checkpoint", "someone/films", "--json"]
    assert main(["ask", QUESTION, "--facts", "facts.txt", *words]) == 0
    asked = json.loads(capsys.readouterr().out)
    Path("questions.jsonl").write_text(json.dumps({"id": "a", "question": QUESTION, "facts": FACTS}))
    assert main(["predict", "--questions", "questions.jsonl", "--out", "answers.jsonl", *words]) == 0
    assert json.loads(Path("answers.jsonl").read_text())["edges"] == asked["edges"]
    Collection.build(FACTS, "facts", encoder=None)
    found = open_sources(ServeOptions(checkpoint="someone/films", collection=("facts=facts",), device="cpu"))
    assert found.systems["bgr"].description.endswith("the checkpoint someone/films")
    found = open_sources(ServeOptions(checkpoint=pruned_checkpoint, collection=("facts=facts",), device="cpu"))
    assert found.systems["bgr"].description.endswith(f": the checkpoint {pruned_checkpoint.name}")
    capsys.readouterr()
    assert main(["ask", QUESTION, "--facts", "facts.txt", "--checkpoint", "someone/film"]) == 1
    told, error = capsys.readouterr().err.splitlines()
    assert told == "someone/film: there is no such folder; looking on the Hugging Face Hub"
    assert error.startswith("bgr ask: error: someone/film: no such folder, and no such repository on the Hub")


def test_a_command_may_name_a_revision(hub, pruned_checkpoint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pipeline = BgrPipeline.from_pretrained(pruned_checkpoint, device="cpu")
    pipeline.push_to_hub("someone/films", token=TOKEN)
    first = hub.repos["someone/films"].branches["main"]
    pipeline.push_to_hub("someone/films", token=TOKEN, commit_message="Again")
    assert checkpoint_path(f"someone/films@{first}").name == first
    assert checkpoint_path("someone/films").name == hub.repos["someone/films"].branches["main"]
    with pytest.raises(CheckpointError, match="has no revision 'v9'"):
        checkpoint_path("someone/films@v9")


def test_a_folder_that_is_missing_here_is_not_looked_for_on_the_hub(hub, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("work").mkdir()
    with pytest.raises(CheckpointError, match=r"work/film/bgr\.json: no such file; allowed: the folder"):
        checkpoint_path("work/film")
    assert hub.requests == []


def test_every_file_of_the_released_checkpoint_may_be_downloaded():
    folder = checkpoint_folder()
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert f"{RANKER}/model.safetensors" in names
    assert names <= set(FILES)


def test_a_ranker_goes_to_the_hub_and_comes_back(hub, pruned_checkpoint):
    mine = BgrPipeline.from_pretrained(pruned_checkpoint, device="cpu", precision="32")
    mine.ranker = PoolRanker(RankerConfig())
    mine.push_to_hub("someone/films", token=TOKEN)
    loaded = BgrPipeline.from_pretrained("someone/films", device="cpu", precision="32").ranker.state_dict()
    assert all(torch.equal(weight, loaded[name]) for name, weight in mine.ranker.state_dict().items())


@pytest.mark.workflow
def test_a_branch_and_the_commit_of_an_older_state(hub, pipeline, random_checkpoint):
    pipeline.push_to_hub("someone/films", token=TOKEN)
    before = hub.repos["someone/films"].branches["main"]
    other = BgrPipeline.from_pretrained(random_checkpoint, precision="32")
    other.settings = type(other.settings)(gammas={"equation": 0.75})
    other.push_to_hub("someone/films", token=TOKEN, revision="trial")
    gamma = lambda **which: BgrPipeline.from_pretrained("someone/films", **which).settings.gammas["equation"]  # noqa: E731
    assert (gamma(), gamma(revision="trial"), gamma(revision=before)) == (0.25, 0.75, 0.25)


def test_files_of_an_earlier_checkpoint_are_deleted(pushed, pipeline):
    pushed.commits[pushed.branches["main"]] |= {"reader/reader.json": b"{}", "notes.md": b"mine"}
    pipeline.push_to_hub("someone/films", token=TOKEN)
    files = pushed.commits[pushed.branches["main"]]
    assert "reader/reader.json" not in files
    assert files["notes.md"] == b"mine"


def test_the_cache_serves_without_the_hub(pushed, hub):
    BgrPipeline.from_pretrained("someone/films")
    hub.requests.clear()
    BgrPipeline.from_pretrained("someone/films", local_files_only=True)
    assert hub.requests == []
    hub.down = True
    BgrPipeline.from_pretrained("someone/films")


@pytest.mark.workflow
@pytest.mark.parametrize(
    ("source", "options", "said"),
    [
        ("someone/films", {"revision": "v9"}, "someone/films: has no revision 'v9'"),
        ("someone/nothing", {}, "someone/nothing: no such folder, and no such repository on the Hub, or a private one"),
        (
            "someone/films",
            {"local_files_only": True},
            "someone/films: no such folder, and not in the Hub's local cache",
        ),
        ("no folder", {}, "'no folder': no such folder, allowed: a folder, or owner/name"),
        ("a/b/c", {}, "'a/b/c': no such folder, allowed"),
        ("../up", {}, "no such folder, allowed"),
        ("someone/a--b", {}, "the Hub refused"),
    ],
)
def test_what_cannot_be_loaded_is_one_line(pushed, source, options, said):
    with pytest.raises(CheckpointError, match=said) as error:
        BgrPipeline.from_pretrained(source, **options)
    one_line(error)


def test_a_private_repository_needs_the_token(hub, pipeline):
    pipeline.push_to_hub("someone/secret", token=TOKEN, private=True)
    with pytest.raises(CheckpointError, match="or a private one that the token may not read") as error:
        BgrPipeline.from_pretrained("someone/secret")
    one_line(error)
    with pytest.raises(CheckpointError, match="or a private one"):
        BgrPipeline.from_pretrained("someone/secret", token="hf_other")
    assert BgrPipeline.from_pretrained("someone/secret", token=TOKEN).settings == pipeline.settings


def damaged(content):
    return content[:-1] + bytes([content[-1] ^ 1])


@pytest.mark.parametrize(
    ("name", "harm", "said"),
    [
        ("forward/model.safetensors", damaged, "someone/films: forward/model.safetensors is damaged"),
        ("bgr.json", lambda _: b"{}", "someone/films: bgr.json is damaged"),
        ("backward/config.json", None, "someone/films: backward/config.json is damaged"),
        ("SHA256SUMS", None, "someone/films: has no SHA256SUMS"),
        ("SHA256SUMS", lambda old: b"\n".join(old.splitlines()[1:]), "is not in SHA256SUMS, so it cannot be verified"),
        ("bgr.json", None, "someone/films: holds no BGR checkpoint"),
    ],
)
def test_a_damaged_file_is_one_line(pushed, name, harm, said):
    files = pushed.commits[pushed.branches["main"]]
    if harm is None:
        del files[name]
    else:
        files[name] = harm(files[name])
    with pytest.raises(CheckpointError, match=said) as error:
        BgrPipeline.from_pretrained("someone/films")
    one_line(error)


def test_a_push_that_is_refused_is_one_line(hub, pipeline):
    for token, name, said in (
        ("hf_other", "someone/films", "someone/films: the Hub refused or could not be reached: .*Invalid username"),
        (TOKEN, "films", "'films': not the name of a repository, allowed: owner/name"),
        (TOKEN, "some one/films", "allowed: owner/name"),
    ):
        with pytest.raises(BgrError, match=said) as error:
            pipeline.push_to_hub(name, token=token)
        one_line(error)
    hub.down = True
    with pytest.raises(BgrError, match="someone/films: the Hub refused or could not be reached") as error:
        pipeline.push_to_hub("someone/films", token=TOKEN)
    one_line(error)
    assert hub.repos == {}


def test_a_folder_has_no_revisions(random_checkpoint):
    with pytest.raises(CheckpointError, match="is a folder, and revision is 'v1'"):
        BgrPipeline.from_pretrained(str(random_checkpoint), revision="v1")


@pytest.mark.parametrize("name", ["a/b", "A-1/b.c_d", "0x/y"])
def test_hub_ids(name):
    assert is_hub_id(name)


@pytest.mark.parametrize("name", ["a", "a/b/c", "/a/b", "./a", "a/", "a/..", "a b/c", "ä/b", "a/b\n"])
def test_not_hub_ids(name):
    assert not is_hub_id(name)


def test_auto_model_from_the_hub(pushed, pipeline):
    from transformers import AutoModel

    import bgr.auto  # noqa: F401

    loaded = AutoModel.from_pretrained("someone/films", subfolder="backward")
    expected = pipeline.backward.state_dict()
    assert all(torch.equal(weight, expected[name]) for name, weight in loaded.state_dict().items())
