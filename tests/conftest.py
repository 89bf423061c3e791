"""Tokenizers, a two-layer BERT and a two-layer Llama small enough for every test, made here: nothing is downloaded.

Whatever takes longer than a moment (datasets, trained runs) is made once a session, in `build_once`.
"""

import os

# Before PyTorch is imported: pytest-xdist has a process for each core, and child processes inherit it.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# Ray's workers wait behind all other processes by default, among them pytest-xdist's.
os.environ.setdefault("RAY_worker_niceness", "0")

import gc
import re
import shutil
import signal
import zlib
from pathlib import Path

import numpy as np
import pytest
import torch
from filelock import FileLock
from hypothesis import HealthCheck, settings
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from bgr.data.example import Example
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.models.config import BgrConfig
from bgr.models.retriever import BgrRetriever

CI = os.environ.get("CI") == "true"

# A slow machine is no fault of the code; fixtures of one test serve all its examples.
CALM = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]}
settings.register_profile("small", max_examples=25, **CALM)
settings.register_profile("full", max_examples=200, **CALM)
settings.load_profile("full" if CI else "small")


def pytest_collection_finish():
    """The garbage collector no longer walks through the libraries and the collected tests: a third of the time."""
    gc.collect()
    gc.freeze()


def not_skipped(report):
    """With ``CI=true`` what was skipped has failed."""
    if CI and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome, report.longrepr = "failed", f"skipped, which CI does not allow: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    return not_skipped((yield))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    return report if item.get_closest_marker("gpu") else not_skipped(report)


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """No test reads or writes the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BGR_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
        yield


@pytest.fixture(scope="session")
def build_once(tmp_path_factory):
    """``build_once("name", make)``: the folder that ``make(folder)`` fills, once for all processes of pytest-xdist.

    Tests that change it work on a copy.
    """
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "built-once"
    shared.mkdir(exist_ok=True)

    def build(name, make):
        folder, done = shared / name, shared / f"{name}.done"
        with FileLock(shared / f"{name}.lock"):
            if not done.exists():
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                make(folder)
                done.touch()
        return folder

    return build


@pytest.fixture
def must_end():
    """For inputs made to be slow: after 30 seconds of the processor the test fails, however busy the machine is."""

    def hangs(*_):
        raise TimeoutError("30 seconds of the processor, and no end")

    before = signal.signal(signal.SIGPROF, hangs)
    signal.setitimer(signal.ITIMER_PROF, 30)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, before)


@pytest.fixture
def multihop_sample():
    """The folder that ``BGR_MULTIHOP`` names, with HippoRAG's sample of MuSiQue under its published names
    (``musique_train.json``, ``musique_train_corpus.json``, ``musique_train_openie_gpt35.json``); ``None`` without."""
    folder = os.environ.get("BGR_MULTIHOP")
    return Path(folder) if folder else None


SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = (
    "a an the of in is was where which what who how many and or film city country capital people has have with by "
    "made directed lies paris france rome italy radium persona sweden bergman discovered population million yes no "
    ". ? , 1 2 3 4 5 6 7 8 9 0 alpha beta gamma delta epsilon zeta eta theta"
).split()


def word_tokenizer():
    """Word-level, lower-cased, with BERT's special tokens."""
    words = {word: i for i, word in enumerate([*SPECIAL, *WORDS])}
    core = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    core.normalizer = normalizers.Lowercase()
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    core.post_processor = processors.BertProcessing(("[SEP]", words["[SEP]"]), ("[CLS]", words["[CLS]"]))
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )


def small_bert(tokenizer):
    """The configuration of a BERT with two layers."""
    return BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
    )


def write_encoder(folder, tokenizer, config):
    """A random BERT with its tokenizer on disk, as a user would name one."""
    from transformers import BertModel

    torch.manual_seed(0)
    BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


@pytest.fixture(scope="session")
def tokenizer():
    return word_tokenizer()


@pytest.fixture(scope="session")
def encoder_config(tokenizer):
    return small_bert(tokenizer)


@pytest.fixture(scope="session")
def make_retriever(encoder_config):
    """``make_retriever("forward", frozen_layers=1)``: a seeded random model in evaluation mode."""

    def make(direction: str = "forward", *, seed: int = 0, **settings) -> BgrRetriever:
        torch.manual_seed(seed)
        return BgrRetriever(BgrConfig(encoder=encoder_config, direction=direction, **settings)).eval()

    return make


@pytest.fixture(scope="session")
def encoder_folder(build_once, tokenizer, encoder_config):
    """See `write_encoder`."""
    return build_once("encoder", lambda folder: write_encoder(folder, tokenizer, encoder_config))


def toy_examples(count, prefix):
    """Two-hop questions over capitals: a film's country, then that country's capital."""
    countries, capitals = ["france", "italy", "sweden"], ["paris", "rome", "alpha"]
    for i in range(count):
        right = i % 3
        facts = [
            f"Persona was made in {countries[right]} .",
            f"{capitals[right]} is the capital of {countries[right]} .",
        ]
        facts += [f"{capitals[j]} is the capital of {countries[j]} ." for j in range(3) if j != right]
        facts.append(f"Radium has {i % 10} people .")
        order = [(i * 7 + j) % 5 for j in range(5)]
        where = {fact: order.index(fact) for fact in range(5)}
        yield Example(
            id=f"{prefix}{i}",
            question="What is the capital of the country where Persona was made ?",
            facts=tuple(facts[j] for j in order),
            graph=EvidenceGraph([(ROOT, where[0]), (where[0], where[1])]),
            answer=capitals[right],
            program=(),
            type="query",
        )


def write_toy_data(folder, train, dev, test):
    from bgr.data.reasongraphqa.io.dataset import write_dataset

    splits = {"train": toy_examples(train, "a"), "dev": toy_examples(dev, "b"), "test": toy_examples(test, "c")}
    write_dataset(folder, {name: list(part) for name, part in splits.items()}, [], {})


@pytest.fixture(scope="session")
def toy_data(build_once):
    """A dataset folder of 30 / 10 / 10 small questions."""
    return build_once("toy", lambda folder: write_toy_data(folder / "data", 30, 10, 10)) / "data"


@pytest.fixture(scope="session")
def short_data(build_once):
    """`toy_data` with 3 questions to validate on and 3 to test with, for trainings whose scores do not matter."""
    return build_once("short", lambda folder: write_toy_data(folder / "data", 30, 3, 3)) / "data"


@pytest.fixture(scope="session")
def random_checkpoint(build_once, make_retriever, tokenizer):
    """A checkpoint folder of two small retrievers with random weights, to read from only."""
    from bgr.retrievers.graph_hop.checkpoint import Settings

    def make(home):
        for direction, seed in (("forward", 0), ("backward", 1)):
            make_retriever(direction, seed=seed, frozen_layers=1).save_pretrained(home / direction)
        tokenizer.save_pretrained(home)
        Settings(gammas={"equation": 0.25}, data_hash="abc", metrics={"dev": {"forward": {"gm": 0.5}}}).save(home)

    return build_once("checkpoint", make)


@pytest.fixture(scope="session")
def pruned_checkpoint(build_once, make_retriever, tokenizer):
    """`random_checkpoint` with pruners, which finds candidates in a collection hop by hop; to read from only."""
    from bgr.retrievers.graph_hop.checkpoint import Settings

    def make(home):
        for direction, seed in (("forward", 0), ("backward", 1)):
            make_retriever(direction, seed=seed, frozen_layers=1, prune=4).save_pretrained(home / direction)
        tokenizer.save_pretrained(home)
        Settings(gammas={"equation": 0.25}, data_hash="abc", metrics={}).save(home)

    return build_once("pruned-checkpoint", make)


@pytest.fixture
def small_checkpoint(random_checkpoint, tmp_path):
    """A test's own copy of `random_checkpoint`."""
    return shutil.copytree(random_checkpoint, tmp_path / "checkpoint")


class WordEncoder:
    """Unit vectors of hashed words, in place of a sentence encoder: similar where words are shared."""

    def __call__(self, texts):
        vectors = np.zeros((len(texts), 64), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in re.findall(r"\w+", text.lower()):
                vectors[row, zlib.crc32(word.encode()) % 64] += 1.0
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)

    def fingerprint(self):
        return "words"


@pytest.fixture(scope="session")
def word_encoder():
    return WordEncoder()


CHAT_SPECIAL = ["<start>", "<end>"]
CHAT_TEMPLATE = (
    "{% for m in messages %}{% if m['role'] == 'tool' %}{{ raise_exception('no tools here') }}{% endif %}"
    "<start>{{ m['role'] }}\n{{ m['content'] }}<end>\n{% endfor %}{{ '<start>assistant\n' }}"
)


@pytest.fixture(scope="session")
def tiny_llama(build_once):
    """``tiny_llama(256)``: the folder of a random two-layer Llama that holds so many tokens, with a tokenizer of single
    bytes and a chat template."""
    return lambda longest: build_once(f"tiny-llama-{longest}", lambda folder: write_tiny_llama(folder, longest))


def write_tiny_llama(folder, longest):
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("t", "h"), ("th", "e"), ("a", "n"), ("e", "r")]
    tokens = [*CHAT_SPECIAL, *alphabet, *("".join(pair) for pair in merges)]
    core = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, bos_token="<start>", eos_token="<end>")
    tokenizer.chat_template = CHAT_TEMPLATE
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokens) + 7,  # models often have more rows than their tokenizer has tokens
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=longest,
        initializer_range=0.5,
        bos_token_id=0,
        eos_token_id=1,
    )
    model = LlamaForCausalLM(config)
    # settings of the folder that would change replies, were they used
    model.generation_config.update(do_sample=True, temperature=5.0, repetition_penalty=9.0)
    model.save_pretrained(folder)
    return folder
