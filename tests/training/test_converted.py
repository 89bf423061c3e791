"""A retriever trained on questions in MuSiQue's form, from the file to the table."""

import json

import pytest

from bgr.cli import main

pytestmark = pytest.mark.workflow

COUNTRIES = {"france": "paris", "italy": "rome", "sweden": "alpha"}


def question(number):
    """In which country, then what its capital is."""
    country = list(COUNTRIES)[number % 3]
    texts = {"persona": f"Persona was made in {country} ."}
    texts |= {capital: f"{capital} is the capital of {other} ." for other, capital in COUNTRIES.items()}
    gold = ("persona", COUNTRIES[country])
    titles = sorted(texts, key=lambda title: (number * len(title)) % 5)
    paragraphs = [
        {"idx": n, "title": title, "paragraph_text": texts[title], "is_supporting": title in gold}
        for n, title in enumerate(titles)
    ]
    steps = [
        {"question": "Where was Persona made ?", "answer": country, "paragraph_support_idx": titles.index(gold[0])},
        {"question": "What is the capital of #1 ?", "answer": gold[1], "paragraph_support_idx": titles.index(gold[1])},
    ]
    text = "What is the capital of the country where Persona was made ?"
    about = {"id": f"2hop__{number}", "question": text, "answer": gold[1], "answer_aliases": [], "answerable": True}
    return {**about, "paragraphs": paragraphs, "question_decomposition": steps}


def test_convert_train_compare(config, encoder_folder, tmp_path, capsys):
    source, data, run = tmp_path / "musique.jsonl", tmp_path / "converted", tmp_path / "run"
    source.write_text("".join(json.dumps(question(number)) + "\n" for number in range(40)))
    for words in (
        ["data", "convert", source, data, "--to", "bgr", "--shares", 60, 20, 20],
        ["train", "retriever", "--config", config(2), "--data", data, "--out", run],
        [
            *("compare", "--data", data, "--systems", "bm25", f"bgr={run}", "gold", "--encoder", encoder_folder),
            *("--samples", 50, "--out", tmp_path / "out", "--json"),
        ],
    ):
        capsys.readouterr()
        assert main([str(word) for word in words]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["about"]["questions"] == len((data / "test.jsonl").read_text().splitlines()) > 0
    systems = found["systems"]
    assert list(systems) == ["bm25", "bgr", "gold"]
    assert systems["gold"]["GM"]["mean"] == systems["gold"]["F1"]["mean"] == 1
    assert systems["bm25"]["GM"]["mean"] < 1
    for metric in ("R@2", "R@5", "R@10", "R@15", "P", "R", "F1", "GM", "GS", "GED"):
        one = systems["bgr"][metric]
        assert one["low"] <= one["mean"] <= one["high"], metric
    assert systems["bgr"]["F1"]["mean"] > 0
