"""Each published form on a small invented file; passages are matched by title and text together."""

import pytest

from bgr.data.multihop.assemble import passage_id
from bgr.data.multihop.load import load_multihop
from bgr.errors import DataError


def texts(data, ids):
    return [(data.corpus[data.corpus.index_of[one]].title, data.corpus[data.corpus.index_of[one]].text) for one in ids]


@pytest.mark.parametrize("lines", [False, True])
def test_musique(write, musique, lines):
    data = load_multihop(write("mini.json", musique, lines=lines))
    assert (data.name, len(data.corpus), data.missing, data.left_out) == ("mini", 3, 0, 0)
    first, second = data.questions
    assert (first.id, first.hops, first.kind, first.answers) == ("2hop__1_2", 2, "2hop", ("a ship", "ship"))
    assert texts(data, first.gold) == [("Oslo", "Oslo has a harbour."), ("Ship", "A ship sails.")]
    assert (second.hops, second.kind, texts(data, second.gold)) == (3, "3hop1", [("Oslo", "Oslo is a band of three.")])
    assert texts(data, second.context) == [("Ship", "A ship sails."), ("Oslo", "Oslo is a band of three.")]


def test_musique_that_cannot_be_answered_is_left_out(write, musique):
    musique.append({**musique[0], "answerable": False})  # the same id, as in musique_full
    data = load_multihop(write("full.json", musique))
    assert (len(data.questions), data.left_out) == (2, 1)
    with pytest.raises(DataError, match="has no answerable question"):
        load_multihop(write("none.json", [{**musique[0], "answerable": False}]))


def test_hippo_sample_without_decomposition(write):
    paragraph = {"title": "Oslo", "text": "Oslo has a harbour.", "is_supporting": True, "idx": 0}
    record = {
        "id": "s/1.json",
        "question": "What has Oslo?",
        "answer": ["harbour", "a port"],
        "paragraphs": [paragraph],
    }
    (question,) = load_multihop(write("s.json", [record])).questions
    assert (question.hops, question.kind, question.answers) == (1, "", ("harbour", "a port"))


def test_a_title_alone_does_not_match(write, musique):
    corpus = [
        {"title": "Oslo", "text": "Oslo is a band of three."},
        {"title": "Ship", "text": "A ship sails."},
        {"title": "Ship", "text": "A ship sails."},
    ]
    data = load_multihop(write("q.json", musique), corpus=write("c.json", corpus))
    assert (len(data.corpus), data.repeated, data.missing) == (2, 1, 1)
    assert (data.questions[0].missing, texts(data, data.questions[0].gold)) == (1, [("Ship", "A ship sails.")])


def test_hotpotqa(write, hotpot):
    data = load_multihop(write("hotpot.json", hotpot))
    (question,) = data.questions
    assert (question.id, question.kind, question.hops, question.answers) == ("abc", "bridge", 2, ("Oslo",))
    assert texts(data, question.gold) == [
        ("Ferry", "The ferry is white. It starts in Oslo."),
        ("Bergen", "Bergen is a city. It rains."),
    ]
    ferry, bergen = question.gold
    assert question.sentences == ((ferry, 1), (bergen, 0))  # the sentence beyond the end is dropped
    assert data.sentences[ferry][1] == " It starts in Oslo."


def test_hotpotqa_fullwiki_may_lack_gold(write, hotpot):
    del hotpot[0]["context"][0]
    (question,) = load_multihop(write("hotpot.json", hotpot)).questions
    assert (len(question.gold), question.missing, question.hops) == (1, 1, 2)


def test_2wiki_is_recognized_by_its_evidences(write, hotpot):
    record = {**hotpot[0], "evidences": [["Ferry", "start", "Oslo"]], "type": "compositional"}
    assert load_multihop(write("dev.json", [record])).questions[0].kind == "compositional"


@pytest.mark.parametrize("join", ["", " "])
def test_sentences_match_a_corpus_however_they_were_joined(write, hotpot, join):
    corpus = [{"title": title, "text": join.join(sentences)} for title, sentences in hotpot[0]["context"]]
    data = load_multihop(write("q.json", hotpot), corpus=write("c.json", corpus))
    assert (data.missing, len(data.questions[0].gold)) == (0, 2)
    assert [data.sentences[one][number] for one, number in data.questions[0].sentences] == [
        " It starts in Oslo.",
        "Bergen is a city.",
    ]


def test_a_gold_sentence_that_the_corpus_splits_differently_is_dropped(write, hotpot):
    corpus = dict(hotpot[0]["context"]) | {"Ferry": ["The ferry is white. It starts in Oslo."]}
    data = load_multihop(write("q.json", hotpot), corpus=write("c.json", corpus))
    ferry, bergen = data.questions[0].gold
    assert (data.questions[0].sentences, len(data.sentences[ferry])) == (((bergen, 0),), 1)


def test_corpus_by_title_with_sentences(write, hotpot):
    corpus = dict(hotpot[0]["context"]) | {"Fog": "Fog is thick."}
    data = load_multihop(write("q.json", hotpot), corpus=write("c.json", corpus))
    assert (len(data.corpus), data.missing) == (4, 0)
    assert data.sentences[data.questions[0].gold[0]] == ("The ferry is white.", " It starts in Oslo.")


def test_multihop_rag(write, rag):
    queries, corpus = rag
    data = load_multihop(write("MultiHopRAG.json", queries), corpus=write("corpus.json", corpus))
    first, second = data.questions
    assert (first.id, first.kind, first.missing, first.hops) == ("0", "inference_query", 1, 3)
    assert texts(data, first.gold) == [
        ("Rain", "It rained for days.\nThe lake rose."),
        ("Dam", "A dam broke. It was old."),  # of two articles at one address, that with the fact
    ]
    assert (second.gold, second.missing, second.kind) == ((), 0, "null_query")
    with pytest.raises(DataError, match=r"corpus\.json"):
        load_multihop(write("MultiHopRAG.json", queries))


def test_ids_and_hashes(write, musique):
    data = load_multihop(write("q.json", musique))
    assert [p.id for p in data.corpus] == [passage_id(p.title, p.text) for p in data.corpus]
    assert passage_id("a", "bc") != passage_id("ab", "c")
    again = load_multihop(write("other.json", musique, lines=True))
    assert again.hash == data.hash  # independent of the file's name and form
    musique[1]["paragraphs"][0]["is_supporting"] = True
    other = load_multihop(write("q.json", musique))
    assert (other.corpus.hash, other.hash != data.hash) == (data.corpus.hash, True)
    assert (len(data.first(1).questions), data.first(1).corpus) == (1, data.corpus)


def test_an_empty_text_matches_only_itself(write):
    """A passage without sentences does not match the passage of its title that is empty."""
    paragraphs = [
        {"title": "Oslo", "paragraph_text": "", "is_supporting": False},
        {"title": "Oslo", "paragraph_text": "Oslo has a harbour.", "is_supporting": True},
    ]
    record = {"id": "1", "question": "?", "answer": "a", "paragraphs": paragraphs}
    data = load_multihop(write("q.json", [record]))
    assert texts(data, data.questions[0].gold) == [("Oslo", "Oslo has a harbour.")]


def test_line_separators_inside_texts_do_not_cut_json_lines(tmp_path):
    import json

    record = {"id": "1", "question": "a\u2028b", "answer": "a", "paragraphs": []}
    path = tmp_path / "q.jsonl"
    path.write_text(json.dumps(record, ensure_ascii=False) + "\n", encoding="utf-8")
    assert load_multihop(path).questions[0].question == "a\u2028b"


def test_ircot(write):
    """The form of ``processed_data`` in IRCoT's repository."""
    contexts = [
        {"idx": 0, "title": "Oslo", "paragraph_text": "Oslo has a harbour.", "is_supporting": True},
        {"idx": 1, "title": "Ship", "paragraph_text": "A ship sails.", "is_supporting": False},
    ]
    answers = [{"number": "", "date": {"day": "", "month": "", "year": ""}, "spans": ["Oslo", "Kristiania", "Oslo"]}]
    record = {"question_id": "q1", "question_text": "Where?", "contexts": contexts, "answers_objects": answers}
    data = load_multihop(write("dev.jsonl", [record, {**record, "question_id": "q2", "type": "bridge"}], lines=True))
    first, second = data.questions
    assert (first.id, first.question, first.answers) == ("q1", "Where?", ("Oslo", "Kristiania"))
    assert (first.kind, second.kind) == ("", "bridge")
    assert texts(data, first.gold) == [("Oslo", "Oslo has a harbour.")]
    assert len(first.context) == len(data.corpus) == 2
    with pytest.raises(DataError, match=r"context 0.*is_supporting"):
        load_multihop(write("bad.json", [{**record, "contexts": [{**contexts[0], "is_supporting": "yes"}]}]))
