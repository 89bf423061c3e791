"""Tokenizers, a two-layer BERT and a two-layer Llama small enough for every test, made here: nothing is downloaded."""

import os
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, settings
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from bgr.data.example import Example
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.models.config import BgrConfig
from bgr.models.retriever import BgrRetriever

# a busy machine is no fault of the code; fixtures of one test serve all its examples
settings.register_profile(
    "bgr", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
settings.load_profile("bgr")


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


@pytest.fixture(scope="session")
def tokenizer():
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


@pytest.fixture(scope="session")
def encoder_config(tokenizer):
    return BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
    )


@pytest.fixture
def make_retriever(encoder_config):
    """``make_retriever("forward", frozen_layers=1)``: a seeded random model in evaluation mode."""

    def make(direction: str = "forward", *, seed: int = 0, **settings) -> BgrRetriever:
        torch.manual_seed(seed)
        return BgrRetriever(BgrConfig(encoder=encoder_config, direction=direction, **settings)).eval()

    return make


@pytest.fixture
def encoder_folder(tmp_path_factory, tokenizer, encoder_config):
    """A BERT with its tokenizer on disk, as a user would name one."""
    from transformers import BertModel

    folder = tmp_path_factory.mktemp("encoder")
    torch.manual_seed(0)
    BertModel(encoder_config, add_pooling_layer=False).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


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


@pytest.fixture(scope="session")
def toy_data(tmp_path_factory):
    """A dataset folder of 30 / 10 / 10 small questions."""
    from bgr.data.reasongraphqa.io.dataset import write_dataset

    folder = tmp_path_factory.mktemp("toy") / "data"
    splits = {"train": toy_examples(30, "a"), "dev": toy_examples(10, "b"), "test": toy_examples(10, "c")}
    write_dataset(folder, {name: list(part) for name, part in splits.items()}, [], {})
    return folder


@pytest.fixture
def small_checkpoint(make_retriever, tokenizer, tmp_path):
    """A checkpoint folder of two small retrievers with random weights."""
    from bgr.retrievers.graph_hop.checkpoint import Settings

    home = tmp_path / "checkpoint"
    home.mkdir()
    for direction, seed in (("forward", 0), ("backward", 1)):
        make_retriever(direction, seed=seed, frozen_layers=1).save_pretrained(home / direction)
    tokenizer.save_pretrained(home)
    Settings(gammas={"equation": 0.25}, data_hash="abc", metrics={"dev": {"forward": {"gm": 0.5}}}).save(home)
    return home


CHAT_SPECIAL = ["<start>", "<end>"]
CHAT_TEMPLATE = (
    "{% for m in messages %}{% if m['role'] == 'tool' %}{{ raise_exception('no tools here') }}{% endif %}"
    "<start>{{ m['role'] }}\n{{ m['content'] }}<end>\n{% endfor %}{{ '<start>assistant\n' }}"
)


@pytest.fixture(scope="session")
def tiny_llama(tmp_path_factory):
    """``tiny_llama(256)``: the folder of a random two-layer Llama that holds so many tokens, with a tokenizer of single
    bytes and a chat template."""

    def make(longest):
        return write_tiny_llama(tmp_path_factory.mktemp("tiny-llama"), longest)

    return make


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
