"""Training of a reader: T5 on questions with evidence, from scratch or from a checkpoint (paper, section 5.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

from tqdm import tqdm

from bgr.data.example import Example
from bgr.data.reasongraphqa.io.dataset import dataset_hash, load_split, recipe_of
from bgr.data.records import read_records
from bgr.errors import DataError, GraphError
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.models.truncation import truncation_text
from bgr.reader.name_pieces import JOINTS, at_sentence_start, tokens_of
from bgr.reader.seq2seq import ReaderSettings, Seq2seqReader, linearize
from bgr.reader.slots import PLACEHOLDERS, mask_text
from bgr.utils.json_utils import repr_short
from training.callbacks import Truncated, to_stderr
from training.run import Run, at_least
from training.seq2seq.data import Seq2seqData, train_tokenizer, word_tokenizer
from training.seq2seq.module import Seq2seqModule, fit_seq2seq, start_seq2seq, write_results

MIN_SHARE = 0.0005
"""Minimum share of the texts that contain an everyday word."""

CAPITAL_SHARE = 0.1
"""A word that is capitalized inside sentences more often than this belongs to names."""

MAX_COUNT = 50
"""Largest count among the everyday words."""

CARD = """# Reader: question and evidence graph to answer

```python
from bgr.reader.loading import load_reader
from bgr.reader.reader import ReaderInput

answers = load_reader("this/folder").answer([ReaderInput(question, facts, graph)])
```

{table}
"""


def everyday_words(texts: Iterable[str], answers: Iterable[str]) -> tuple[str, ...]:
    """The closed vocabulary of a reader with placeholders, from questions with evidence and their answers.

    Returns:
        Sorted: words that are in lower case inside sentences, abbreviations in their usual case, words of answers that
        do not occur in their texts, *yes*, *no*, and the numbers up to `MAX_COUNT` for counts.
    """
    small, started, inside, short = (Counter[str]() for _ in range(4))
    number = 0
    for text in texts:
        number += 1
        seen: dict[str, bool] = {}
        for before, word in pairwise([".", *tokens_of(text)]):
            seen[word] = seen.get(word, True) and at_sentence_start(before)
        for word, only_started in seen.items():
            if sum(letter.isupper() for letter in word) > 1:
                short[word] += 1
            elif word[0].isupper():
                (started if only_started else inside)[word.lower()] += 1
            elif word.isalpha() or word[0] in "'’":
                small[word] += 1
    minimum = max(2.0, MIN_SHARE * number)
    found = {word for word, times in (small + started).items() if times >= minimum}
    found = {word for word in found if small[word] or inside[word] < CAPITAL_SHARE * started[word]}
    found |= _answer_words(answers, minimum) | set(JOINTS) | {"yes", "no"}
    found |= {word for word, times in short.items() if times >= 10 * minimum}
    return tuple(sorted(found | {str(count) for count in range(MAX_COUNT + 1)}))


def _answer_words(answers: Iterable[str], minimum: float) -> set[str]:
    """Units, and words of many answers."""
    units, others = Counter[str](), Counter[str]()
    for answer in answers:
        words = [word.lower() for word in tokens_of(answer) if word.isalpha()]
        (units if answer[:1].isdigit() else others).update(words)
    return {word for word, times in units.items() if times >= minimum} | {
        word for word, times in others.items() if times >= 10 * minimum
    }


class ReaderData(Seq2seqData):
    """Pairs from a dataset's train and dev splits.

    Args:
        folder: the dataset.
        structure: express the structure of the graph in words.
        slots: replace names and quantities by placeholders (`bgr.reader.slots`); for a T5 without pre-training.
        most_tokens: maximum tokens of an input; a longer one is truncated.
        longest_answer: maximum tokens of a generated answer.
        retrieved: file ``predictions.jsonl`` of `bgr evaluate` over the train split, whose graphs are used in addition
            to the gold graphs; empty for gold graphs only.
        system: system of that file whose graphs are used.
        limit, dev_limit: number of questions of each split; 0 for all.
        batch_size: pairs per batch.

    Raises:
        ValueError: a number is out of range.
    """

    def __init__(
        self,
        folder: str,
        structure: bool = True,
        slots: bool = True,
        most_tokens: int = 512,
        longest_answer: int = 32,
        retrieved: str = "",
        system: str = "fused",
        limit: int = 0,
        dev_limit: int = 2_000,
        batch_size: int = 32,
    ) -> None:
        super().__init__()
        at_least(1, most_tokens=most_tokens, longest_answer=longest_answer, batch_size=batch_size)
        at_least(0, limit=limit, dev_limit=dev_limit)
        self.save_hyperparameters()
        self.settings = ReaderSettings()
        self.left_out = 0

    def setup(self, stage: str | None = None) -> None:
        """Read the splits and make the pairs, once.

        Raises:
            DataError: the dataset or the retrieved graphs are invalid.
        """
        if self.pairs:
            return
        own = self.hparams
        folder = Path(own["folder"])
        train, dev = (
            load_split(folder, split, progress=True)[: own[limit] or None]
            for split, limit in (("train", "limit"), ("dev", "dev_limit"))
        )
        graphs = [(example, example.graph) for example in train]
        if own["retrieved"]:
            graphs += retrieved_graphs(Path(own["retrieved"]), train, own["system"])
        parts = {"train": graphs, "dev": [(example, example.graph) for example in dev]}
        structure = own["structure"]
        texts = {
            name: [(e, linearize(e.question, e.facts, graph, structure=structure)) for e, graph in part if graph.nodes]
            for name, part in parts.items()
        }
        words: tuple[str, ...] = ()
        if own["slots"]:
            rows = texts["train"]
            words = everyday_words((text for _, text in rows), (example.answer for example, _ in rows))
        shared = {name: own[name] for name in ("structure", "slots", "most_tokens", "longest_answer")}
        self.settings = ReaderSettings(words=words, data_hash=dataset_hash(folder), recipe=recipe_of(folder), **shared)
        for name, rows in texts.items():
            self.pairs[name] = self._pairs(rows, keep_all=name == "dev")
        if not self.pairs["train"] or not self.pairs["dev"]:
            raise DataError(f"{folder}: {len(train)} train and {len(dev)} dev questions give no training pair")

    def _pairs(self, rows: Sequence[tuple[Example, str]], *, keep_all: bool) -> list[tuple[str, str]]:
        """Sources and targets. Answers that placeholders cannot express are left out of training but count as failures
        in dev."""
        if not self.settings.slots:
            return [(text, example.answer) for example, text in rows]
        words = frozenset(self.settings.words)
        pairs = []
        for example, text in tqdm(rows, desc="mask", unit="question", delay=1):
            masked = mask_text(text, words)
            target = masked.target(example.answer, words, count=example.type == "count")
            if target is not None or keep_all:
                pairs.append((masked.text, example.answer if target is None else target))
        self.left_out += len(rows) - len(pairs)
        return pairs


def retrieved_graphs(path: Path, examples: Sequence[Example], system: str) -> list[tuple[Example, EvidenceGraph]]:
    """Read the graphs that a system retrieved for the examples from ``predictions.jsonl``.

    Raises:
        DataError: the file or a line is invalid, the system is missing, or a line is from another split or dataset.
    """
    known = {example.id: example for example in examples}
    found = []
    for where, record in read_records(path):
        try:
            example = known.get(str(record["id"]))
            same = example is not None and example.question == record["question"]
            graph = EvidenceGraph([(a, b) for a, b, *_ in record["predictions"][system]["edges"]])
        except GraphError as error:
            raise DataError(f"{where}: {error}") from None
        except (KeyError, TypeError, ValueError):
            known_form = "a predictions.jsonl with this system"
            raise DataError(f"{where}: no graph of {repr_short(system)}; allowed: {known_form}") from None
        if example is None or not same:
            raise DataError(f"{where}: {repr_short(record['id'])} is not a question of the train split in use")
        if graph.nodes and graph.nodes[-1] >= len(example.facts):
            raise DataError(f"{where}: an edge to fact {graph.nodes[-1]}, but there are {len(example.facts)} facts")
        found.append((example, graph))
    return found


def train_reader(run: Run, *, overwrite: bool = False) -> dict[str, float]:
    """Train on the dataset ``run.data``, keep the epoch with the highest dev score, and save it to ``run.out``.

    The default precision is bfloat16 if it is fast on the device.

    Returns:
        ``dev_exact``: share of dev answers reproduced exactly from gold evidence; ``pairs``: number of training pairs;
        ``left_out``: number of questions whose answers placeholders cannot express; ``truncated``: number of inputs of
        train and dev longer than ``most_tokens``.

    Raises:
        BgrError: a setting, the dataset or the initial model is invalid; nothing is written in this case.
    """
    best_epoch = {"monitor": "dev/score", "mode": "max"}
    cli = start_seq2seq(run, ReaderData, "reader", overwrite=overwrite, mixed=True, **best_epoch)
    module: Seq2seqModule = cli.model
    data: ReaderData = cli.datamodule
    settings = data.settings
    if settings.slots:
        module.start(lambda _: word_tokenizer([*PLACEHOLDERS, *settings.words]), more=PLACEHOLDERS)
    else:
        module.start(lambda vocabulary: train_tokenizer(data.training_texts(), vocabulary))
    data.tokenize(module.tokenizer, max_tokens=settings.most_tokens)
    to_stderr(Truncated("reader", {"inputs": data.truncation}))
    best = fit_seq2seq(run, cli, overwrite=overwrite)
    settings.save(run.out)
    metrics = {
        "dev_exact": best,
        "pairs": len(data.pairs["train"]),
        "left_out": data.left_out,
        "truncated": data.truncation.truncated,
    }
    rows = {
        "training pairs": f"{metrics['pairs']:,}",
        "graph structure in words": "yes" if settings.structure else "no",
        "names and quantities": "placeholders" if settings.slots else "text",
        "maximum input, answer": f"{settings.most_tokens}, {settings.longest_answer} tokens",
        "longer inputs in training": truncation_text({"inputs": data.truncation}),
        "dev answers exactly correct, gold evidence": f"{best:.1%} of {len(data.pairs['dev']):,}",
        "trained on data": f"{settings.recipe or 'recipe unknown'}, SHA-256 `{settings.data_hash}`",
    }
    write_results(run, module, metrics, task="question-answering", text=CARD, rows=rows)
    Seq2seqReader.from_pretrained(run.out, device="cpu")  # fails now if users could not load it
    return metrics
