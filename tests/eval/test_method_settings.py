"""Settings of methods from files, by name on the command line, and in the names of systems."""

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from bgr.errors import BgrError
from bgr.retrievers.gear.steps import PAPER as GEAR
from eval.systems.method_settings import MethodSettings
from eval.systems.retrievers import SECTIONS, method_settings, settings_of
from eval.systems.spec import METHODS, parse_specs

FILES = ("gear_musique", "gear_hotpotqa", "prism", "bridgerag_musique", "bridgerag_hotpotqa", "ircot", "rerank")


@pytest.mark.parametrize("name", FILES)
def test_a_shipped_file_has_every_setting_of_its_methods(name):
    import yaml

    from bgr.released import find_config

    values = yaml.safe_load(find_config(name).read_text())
    found = MethodSettings.read([name])
    for method, given in values.items():
        wanted = asdict(getattr(found, method))
        assert set(given) == set(wanted)
        for key, value in given.items():
            assert wanted[key] == (tuple(value) if isinstance(value, list) else value)


def test_the_papers_differ_by_dataset():
    musique, hotpot = MethodSettings.read(["gear_musique"]).gear, MethodSettings.read(["gear_hotpotqa"]).gear
    assert (musique.rounds, hotpot.rounds) == (4, 2)
    assert replace(musique, rounds=2) == hotpot
    alphas = [MethodSettings.read([f"bridgerag_{name}"]).bridgerag.alpha for name in ("musique", "hotpotqa")]
    assert alphas == [0.1, 0.15]


def test_later_ones_take_precedence(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("gear: {rounds: 3, beam: {width: 4}}\n")
    found = MethodSettings.read(
        ["gear_musique", str(file), "gear.beam.length=3", "prism.agents=[selector],prism.rounds=1"]
    )
    assert (found.gear.rounds, found.gear.beam.width, found.gear.beam.length) == (3, 4, 3)
    assert found.gear.score == "text"
    assert (found.prism.agents, found.prism.rounds) == (("selector",), 1)
    assert MethodSettings.read(["gear.beam.gamma=null"]).gear.beam.gamma is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gear.roundz=2", "unknown setting 'roundz'.*rounds"),
        ("geer.rounds=2", "unknown setting 'geer'"),
        ("gear.rounds=two", "rounds: 'two': allowed: an integer"),
        ("gear.rounds=0", "rounds is 0"),
        ("gear.rounds=true", "allowed: an integer"),
        ("gear.rounds.x=1", "rounds has no setting 'x'"),
        ("gear.beam=5", "allowed: keys and values"),
        ("gear.score=texts", "allowed: mean, text"),
        ("bridgerag.alpha=2", "alpha is 2"),
        ("gear.rounds=[", "not valid YAML"),
        ("=2", "KEY=VALUE"),
        ("no_such_file", "no such config"),
    ],
)
def test_mistakes_are_one_line(text, said):
    with pytest.raises(BgrError, match=said) as caught:
        MethodSettings.read([text])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", ["[1]", "gear: [", "gear: 5", "gear: {rounds: x}"])
def test_damaged_files_are_refused(tmp_path, content):
    file = tmp_path / "bad.yaml"
    file.write_text(content)
    with pytest.raises(BgrError, match=r"bad\.yaml"):
        MethodSettings.read([str(file)])


def test_systems_have_settings_in_their_names():
    specs = parse_specs(["hybrid+sync", "hybrid+sync@beam.length=3,score=text", "short=bm25+gear@rounds=1"])
    assert [spec.label for spec in specs] == ["hybrid+sync", "hybrid+sync@beam.length=3,score=text", "short"]
    _, longer, short = (settings_of(spec, ["gear.rounds=2"]).gear for spec in specs)
    assert (longer.beam.length, longer.score, longer.rounds) == (3, "text", 2)
    assert short.rounds == 1
    assert specs[2].method == METHODS["bm25+gear"]


def test_named_variants_are_changes():
    def gear(name):
        (spec,) = parse_specs([name])
        return settings_of(spec, []).gear

    assert gear("bm25+naive-plain") == replace(GEAR, beam=replace(GEAR.beam, diverse=False))
    assert gear("bm25+naive-text") == gear("bm25+naive@score=text") == replace(GEAR, score="text")


@pytest.mark.parametrize("text", ["bm25@k=3", "hybrid+sync@rounds", "hybrid+sync@gear.rounds=1"])
def test_wrong_changes_are_refused(text):
    (spec,) = parse_specs([text])
    with pytest.raises(BgrError, match="--systems"):
        settings_of(spec, [])


def test_every_method_has_its_settings_in_its_results():
    for name, method in METHODS.items():
        if method.name is not None:
            section = SECTIONS[method.name]
            assert method_settings(method, "corpus")[section] == asdict(getattr(MethodSettings(), section)), name


def test_the_docs_name_every_shipped_file():
    text = (Path(__file__).parents[2] / "docs" / "passages.md").read_text()
    assert all(name in text for name in FILES)
