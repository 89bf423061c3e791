"""docs/own-data.md: its lines are valid, its fields are all there are, and its code runs."""

import json
import re
import subprocess
import sys
from pathlib import Path

from bgr.data.own.schema import FIELDS, LEVELS, parse_question

PAGE = (Path(__file__).parents[4] / "docs" / "own-data.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


def test_a_line_of_each_level():
    [block] = blocks("json")
    found = [parse_question(line, "docs", number) for number, line in enumerate(block.splitlines())]
    assert [one.level for one in found] == list(LEVELS)


def test_all_fields_are_described():
    table = re.findall(r"^\| `(\w+)` \|", PAGE, flags=re.MULTILINE)
    assert sorted(table) == sorted(FIELDS)


def test_musique_becomes_lines(tmp_path):
    [code] = blocks("python")
    (tmp_path / "musique_lines.py").write_text(code, encoding="utf-8")
    texts = [
        ("Persona", "Persona is old. Bergman made Persona."),
        ("Bergman", "Born in Uppsala. He died."),
        ("A", "B."),
    ]
    steps = [("Persona >> maker", "Bergman", 0), ("Where was #1 born?", "Uppsala", 1)]
    record = {
        "id": "2hop__1",
        "question": "Where was the maker of Persona born?",
        "answer": "Uppsala",
        "paragraphs": [{"idx": n, "title": title, "paragraph_text": text} for n, (title, text) in enumerate(texts)],
        "question_decomposition": [
            {"question": question, "answer": answer, "paragraph_support_idx": n} for question, answer, n in steps
        ],
    }
    lost = {**record, "question_decomposition": [{**record["question_decomposition"][0], "answer": "Nobody"}]}
    (tmp_path / "musique.json").write_text(json.dumps([record, lost]), encoding="utf-8")
    subprocess.run([sys.executable, "musique_lines.py", "musique.json", "lines"], cwd=tmp_path, check=True)
    assert len(list((tmp_path / "lines").iterdir())) == 15
    for level in ("graph", "evidence", "answer"):  # the only question is in test of fold 0, in train of fold 1
        for fold, told in ((0, "graph"), (1, level)):
            [line] = (tmp_path / "lines" / f"{level}-{fold}.jsonl").read_text(encoding="utf-8").splitlines()
            found = parse_question(line, "line", 1)
            assert (found.level, found.split) == (told, "test" if fold == 0 else "train")
            if told == "graph":
                names = {-1: "", **dict(enumerate(found.facts))}
                assert {(names[a], names[b]) for a, b in found.graph.edges} == {
                    ("", "Persona: Bergman made Persona."),
                    ("Persona: Bergman made Persona.", "Bergman: Born in Uppsala."),
                }
