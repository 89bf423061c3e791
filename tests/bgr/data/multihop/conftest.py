"""Small invented files in the published forms."""

import copy
import json

import pytest


@pytest.fixture
def write(tmp_path):
    """``write(name, value)`` as JSON; a list with ``lines=True`` as JSON lines."""

    def write(name, value, *, lines=False):
        path = tmp_path / name
        text = "".join(json.dumps(one) + "\n" for one in value) if lines else json.dumps(value)
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def change():
    """``change(record, path, value)``: a copy with the value at a path replaced; ``...`` removes it."""

    def make(record, path, value):
        record = copy.deepcopy(record)
        inner = record
        for step in path[:-1]:
            inner = inner[step]
        if value is ...:
            del inner[path[-1]]
        else:
            inner[path[-1]] = value
        return record

    return make


@pytest.fixture
def musique():
    """Two questions; both have a paragraph of the title Oslo, with different texts, and one paragraph in common."""
    harbour = {"idx": 0, "title": "Oslo", "paragraph_text": "Oslo has a harbour.", "is_supporting": True}
    band = {"idx": 1, "title": "Oslo", "paragraph_text": "Oslo is a band of three.", "is_supporting": False}
    ship = {"idx": 2, "title": "Ship", "paragraph_text": "A ship sails.", "is_supporting": True}
    return [
        {
            "id": "2hop__1_2",
            "question": "What sails from the harbour of Oslo?",
            "paragraphs": [harbour, band, ship],
            "question_decomposition": [{"id": 1}, {"id": 2}],
            "answer": "a ship",
            "answer_aliases": ["ship", "a ship"],
            "answerable": True,
        },
        {
            "id": "3hop1__3_4_5",
            "question": "How many play in Oslo?",
            "paragraphs": [{**ship, "is_supporting": False}, {**band, "is_supporting": True}],
            "question_decomposition": [{}, {}, {}],
            "answer": "three",
            "answer_aliases": [],
            "answerable": True,
        },
    ]


@pytest.fixture
def hotpot():
    """One bridge question; the second paragraph's sentences begin with spaces."""
    return [
        {
            "_id": "abc",
            "question": "Where does the ferry to Bergen start?",
            "answer": "Oslo",
            "type": "bridge",
            "level": "easy",
            "supporting_facts": [["Ferry", 1], ["Bergen", 0], ["Ferry", 7], ["Ferry", 1]],
            "context": [
                ["Bergen", ["Bergen is a city.", "It rains."]],
                ["Ferry", ["The ferry is white.", " It starts in Oslo."]],
                ["Cloud", ["Clouds are wet."]],
            ],
        }
    ]


@pytest.fixture
def rag():
    """Two queries and three articles, two of them at one address."""
    article = {"author": "A", "source": "S", "published_at": "2023", "category": "c"}
    corpus = [
        {"title": "Rain", "body": "It rained for days.\nThe lake rose.", "url": "http://x/1", **article},
        {"title": "Dam", "body": "A dam broke.", "url": "http://x/2", **article},
        {"title": "Dam", "body": "A dam broke. It was old.", "url": "http://x/2", **article},
    ]

    def evidence(number, fact):
        return {"title": "?", "url": f"http://x/{number}", "fact": fact, **article}

    queries = [
        {
            "query": "What broke after the rain?",
            "answer": "dam",
            "question_type": "inference_query",
            "evidence_list": [evidence(1, "The lake rose."), evidence(2, "It was old."), evidence(9, "Gone.")],
        },
        {"query": "Who won?", "answer": "Unknown.", "question_type": "null_query", "evidence_list": []},
    ]
    return queries, corpus
