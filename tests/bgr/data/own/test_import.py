"""`bgr data import` from the file to a dataset, at each level, with and without a collection and a teacher."""

import json

import pytest

from bgr.cli import main
from bgr.collection.collection import Collection
from bgr.data.options import ImportOptions
from bgr.data.own.importing import import_data
from bgr.data.own.label import DISAGREES, NOTHING_FOUND, OTHER_ANSWER, Taught
from bgr.data.own.links import NO_PLACE
from bgr.data.reasongraphqa.checks.verify import check_arrow, verify_dataset
from bgr.data.reasongraphqa.construction.splits import SPLITS
from bgr.data.reasongraphqa.io.dataset import load_metadata, read_split
from bgr.errors import BgrError, DataError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.utils.options import OptionsError
from tests.bgr.data.own.conftest import BORN, FACTS, places


@pytest.fixture
def bring(tmp_path, write):
    """``bring(records, seed=1)``: the examples by id of the valid dataset ``data`` that is made of them."""

    def run(records, teacher=None, **options):
        options = {"out": tmp_path / "data", "overwrite": True, **options}
        import_data(ImportOptions(files=[write(records)], **options), teacher=teacher, progress=False)
        verify_dataset(options["out"])
        check_arrow(options["out"])
        return {one.id: one for split in SPLITS for one in read_split(options["out"], split)}

    return run


def texts(example):
    """The edges of a graph by the texts of its facts, the question as an empty one."""
    return {("" if a == ROOT else example.facts[a], example.facts[b]) for a, b in example.graph.edges}


@pytest.mark.parametrize("level", ["graph", "evidence", "answer"])
def test_each_level_gives_the_graph_that_the_facts_tell(level, bring, tmp_path):
    found = bring(places(20, level))
    assert len(found) == 20
    for n in range(20):
        first, second = f"Film{n} was made by Person{n}.", f"Person{n} was born in Town{n}."
        assert texts(found[f"q{n + 1:06d}"]) == {("", first), (first, second)}
    metadata = load_metadata(tmp_path / "data")
    assert metadata["counts"] == {"train": 16, "dev": 2, "test": 2}
    assert metadata["inferred_graphs"] == (
        {"train": 0, "dev": 0, "test": 0} if level == "graph" else metadata["counts"]
    )
    assert metadata["lines"] == {level: 20}
    card = (tmp_path / "data" / "README.md").read_text()
    assert ("| rules, " in card) == ("nobody has checked them" in card) == (level != "graph")
    assert "| files | own.jsonl |" in card


def test_candidates_are_shuffled_by_the_seed(bring):
    one, same, other = (bring(places(20, "graph"), seed=seed) for seed in (0, 0, 1))
    assert one == same != other
    assert len({example.graph.nodes for example in one.values()}) > 1


def test_levels_can_be_mixed_and_what_gives_no_graph_is_counted(bring, tmp_path, line):
    records = [
        *places(20, "graph"),
        line(id="weak", answer="Uppsala", split="train"),
        line(id="none", answer="Paris"),
        line(id="open", answerable=False),
        line(id="bare", question="Who made Vertigo?", evidence=[3]),
    ]
    found = bring(records)
    assert texts(found["weak"]) == {("", FACTS[0]), (FACTS[0], FACTS[1])}
    assert "none" not in found
    assert not found["open"].answerable
    assert found["bare"].answer == ""
    metadata = load_metadata(tmp_path / "data")
    assert metadata["dropped"] == {NO_PLACE: {"count": 1, "examples": ["none"]}}
    assert metadata["without_answer"] == 1


def test_questions_can_lose_evidence_in_each_split(bring, tmp_path):
    records = places(40, "graph")
    for record in records:
        record["facts"][2] = "It snows."  # in place of a fact that has the answer
    found = bring(records, withhold=0.25)
    metadata = load_metadata(tmp_path / "data")
    assert metadata["not_answerable"] == {"train": 8, "dev": 1, "test": 1}
    assert metadata["counts"] == {"train": 40, "dev": 5, "test": 5}
    assert sum(id.endswith("-withheld") and not one.answerable for id, one in found.items()) == 10


def test_equal_questions_stay_together_and_repeated_ones_count_once(bring, tmp_path, line):
    # the same question over other facts is another one, but in the same split
    others = [line(facts=[*FACTS[:2], f"Fact {n}."], evidence=[0, 1], answer="Uppsala") for n in range(4)]
    bring([*places(20, "graph"), *others, others[0]])
    assert load_metadata(tmp_path / "data")["repeated_questions"] == 1
    parts = [{one.question for one in read_split(tmp_path / "data", split)} for split in SPLITS]
    assert sum(BORN in part for part in parts) == 1


def test_splits_can_hold_out_facts(bring, tmp_path):
    records = places(30, "graph")
    for n, record in enumerate(records):  # three questions on each film
        record["facts"][0] = f"Film was made by Person{n // 3} in all."
    bring(records, hold_out="facts")
    shared = load_metadata(tmp_path / "data")["shared_with_earlier_splits"]
    assert {count for part in shared.values() for count in part.values()} == {0}
    bring(records)
    assert load_metadata(tmp_path / "data")["shared_with_earlier_splits"]["test"]["a fact of the evidence"] > 0


@pytest.fixture
def collection(tmp_path):
    """Facts of 40 films with ids ``made-3`` and ``born-3``, and of the weather."""
    made = [{"id": f"made-{n}", "text": f"Film{n} was made by Person{n}."} for n in range(40)]
    born = [{"id": f"born-{n}", "text": f"Person{n} was born in Town{n}."} for n in range(40)]
    Collection.build([*made, *born, {"id": "rain", "text": "It rains."}], tmp_path / "collection", encoder=None)
    return tmp_path / "collection"


@pytest.mark.parametrize("level", ["graph", "evidence", "answer"])
def test_a_collection_gives_candidates(level, bring, collection):
    records = places(20, level)
    for n, record in enumerate(records):
        del record["facts"]
        ids = [f"made-{n}", f"born-{n}"]
        record |= {"evidence": ids} if level == "evidence" else {"graph": {"edges": [ids]}} if level == "graph" else {}
    found = bring(records, collection=collection, candidates=10)
    assert found == bring(records, collection=collection, candidates=10)
    for n, example in enumerate(found.values()):
        assert len(set(example.facts)) == 10
        number = int(example.id[1:]) - 1
        first, second = f"Film{number} was made by Person{number}.", f"Person{number} was born in Town{number}."
        assert texts(example) == {("", first), (first, second)}, n
        assert sum(f"Town{number}." in fact for fact in example.facts) == 1


def test_unanswerable_questions_get_candidates_too(bring, collection):
    records = [*places(20, "graph"), {"question": "Who made Film3 and Film4?", "answerable": False, "id": "x"}]
    example = bring(records, collection=collection, candidates=6)["x"]
    assert len(example.facts) == 6
    assert "Film3 was made by Person3." in example.facts


def test_a_teacher_is_believed_if_its_answer_is_right_and_its_directions_agree(bring, tmp_path):
    records = [*places(20, "graph"), *({**one, "id": f"t{n}"} for n, one in enumerate(places(5, "answer")))]
    for n, record in enumerate(records[20:]):
        record["question"] = f"In which town was the maker of Film{n} born?"
    asked = []

    def teacher(questions):
        asked.extend(questions)
        graph = EvidenceGraph([(ROOT, 0), (0, 1)])
        answers = [("Town0", 0.9, graph), ("Town0", 0.9, graph), ("Town2", 0.2, graph), ("Town3", 1.0, EvidenceGraph())]
        answers.append(("town4.", 0.5, graph))
        return [
            Taught(one.facts, found, answer, agreement)
            for one, (answer, agreement, found) in zip(questions, answers, strict=True)
        ]

    found = bring(records, teacher)
    assert [one.question for one in asked] == [record["question"] for record in records[20:]]
    assert {"t0", "t4"} == {id for id in found if id.startswith("t")}
    dropped = load_metadata(tmp_path / "data")["dropped"]
    assert {why: one["examples"] for why, one in dropped.items()} == {
        OTHER_ANSWER: ["t1"],
        DISAGREES: ["t2"],
        NOTHING_FOUND: ["t3"],
    }


def test_a_checkpoint_is_a_teacher(bring, random_checkpoint, capsys, write, tmp_path):
    from bgr.teacher import CheckpointTeacher

    words = ["data", "import", str(write(places(20, "answer"))), "--out", str(tmp_path / "out")]
    assert main([*words, "--teacher", str(random_checkpoint)]) == 1
    assert "has no reader; a teacher must answer" in capsys.readouterr().err
    assert main([*words, "--teacher", str(tmp_path)]) == 1
    assert "no such file; allowed: the folder of a checkpoint" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert CheckpointTeacher(random_checkpoint).collection is None


def test_what_is_refused_leaves_nothing(tmp_path, write, line, bring):
    def refused(records, **options):
        with pytest.raises(BgrError) as error:
            import_data(ImportOptions(files=[write(records)], out=tmp_path / "new", **options), progress=False)
        assert not list(tmp_path.glob("*new*"))
        return str(error.value)

    graphs = places(20, "graph")
    assert "line 21: unknown field" in refused([*graphs, line(answers=["a"])])
    assert "no question has an evidence graph: 1 (the answer stands in no fact)" in refused([line(answer="Paris")])
    assert "dev has no question with evidence (1 train, 0 dev, 0 test)" in refused(graphs[:1])
    assert "train has no question with evidence" in refused([{**one, "split": "dev"} for one in graphs])
    lost = refused([{**graphs[0], "split": "dev"}, line(answer="Paris", split="train")])
    assert f"(0 train, 1 dev, 0 test; left out: 1 ({NO_PLACE}))" in lost
    assert "--shares: the shares are [0, 0, 0]" in refused(graphs, shares=(0, 0, 0))
    assert "collection" in refused(graphs, collection=tmp_path / "none")
    bring(graphs)
    with pytest.raises(DataError, match="exists already; give --overwrite"):
        import_data(ImportOptions(files=[write(graphs)], out=tmp_path / "data"), progress=False)
    with pytest.raises(OptionsError, match="--candidates: 1: allowed: 2 to 1000"):
        ImportOptions(files=["a"], out="b", candidates=1)


def test_the_command_says_where_graphs_came_from_and_what_deserves_a_look(tmp_path, write, capsys):
    long = {**places(1, "graph")[0], "question": "Who?", "facts": ["word " * 50, "b"], "split": "test"}
    del long["answer"]
    path = write([*places(20, "evidence"), long])
    assert main(["data", "import", str(path), "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    for part in (
        "20 evidence, linked by shared names",
        "1 graph, as given",
        "note: dev has no unanswerable question",
        "note: questions in train: 16; at least 100 are advisable",
        "inferred graphs in dev: 2; scores on it compare with the inference, not the truth",
        "facts of more than 45 words: 1 of 63; shipped configs read 64 tokens",
        "questions without distractors: 1",
        "questions without an answer: 1",
    ):
        assert part in said
    assert main(["data", "import", str(path), "--out", str(tmp_path / "out"), "--overwrite", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["counts"] == {"train": 16, "dev": 2, "test": 3}
