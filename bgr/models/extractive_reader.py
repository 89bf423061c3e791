"""The extractive reader: from a question and its evidence graph to the parts that an answer is made of.

The encoder is a pretrained one, so the reader knows more English than its training questions have. A few transformer
layers over the tokens of the question and of all facts then score what the answer is (`KINDS`), and where it is: spans,
numbers, and the facts that count. Comparing, counting and printing are left to code (`bgr.reader.extraction`).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor, nn
from transformers import BertConfig, PretrainedConfig, PreTrainedModel

from bgr.models.attention import PackedLayer, attend_jointly
from bgr.models.encoder import Projection, SentenceStates
from bgr.models.linear import round_linears
from bgr.models.numbers import NumberMarks
from bgr.models.question_distance import QuestionDistance, question_vectors
from bgr.models.ragged import Ragged, Rows
from bgr.models.token_match import WAYS, Layout, TokenMarks, TokenMatch

KINDS = ("span", "quantity", "verify", "boolean", "count", "choice", "label", "none")
"""What an answer is: words of a fact; a number or date of a fact; whether a value of a fact is as the question says;
yes or no for another reason; how many facts count; the one of several facts with the most or the least; one of the
answers that no fact contains; or nothing, since the evidence is not enough."""

OPERATORS = ("=", "!=", "<", ">", "said")
"""How a value is verified: a number of a fact against one of the question, or whether the question has the words."""

CASES = 5
"""What a token begins with: nothing, for special tokens and marks; a small letter; a capital; a digit; or it goes on
with a word (`INSIDE`). An uncased encoder sees no capitals."""

INSIDE = 4

LONGEST_SPAN = 24
"""Maximum tokens of an answer."""

NAME_WAYS = 8
"""What is known of a span that capital letters make a name: the ways of `bgr.reader.names`, whether another
sentence of the question has it, whether none around it in its own sentence is such, and whether it is the longest that
its sentence shares with the question, or with another fact (`shared_runs` there)."""

PAIR = 64
"""Width in which the ends of a span are compared."""

DEPTHS = 8
"""Depths of facts in the graph that are distinguished; deeper ones are like the last."""


class ExtractiveReaderConfig(PretrainedConfig):
    """Configuration of an `ExtractiveReaderModel`.

    Args:
        encoder: configuration of the BERT.
        frozen_layers: number of its layers, counted from the embeddings, that are not trained.
        width: width of the layers over question and facts.
        layers: number of these layers.
        labels: the answers that are chosen from a list.
        units: units that are printed after a number.
        dropout: dropout probability of these layers.
        question_tokens, fact_tokens: maximum length in tokens; longer questions and facts are truncated.
        distance: whether it knows how unlike the training questions a question is.
    """

    model_type = "bgr-extractive-reader"
    sub_configs = {"encoder": BertConfig}  # noqa: RUF012  (the base class reads a plain dict)

    def __init__(
        self,
        encoder: BertConfig | dict[str, Any] | None = None,
        frozen_layers: int = 0,
        width: int = 192,
        layers: int = 3,
        labels: list[str] | None = None,
        units: list[str] | None = None,
        dropout: float = 0.0,
        question_tokens: int = 64,
        fact_tokens: int = 64,
        distance: bool = False,
        **kwargs: Any,
    ) -> None:
        if isinstance(encoder, dict):
            encoder = BertConfig(**encoder)
        self.encoder = encoder if encoder is not None else BertConfig()
        self.encoder.name_or_path = ""  # a path of the machine that trained it
        self.frozen_layers = frozen_layers
        self.width = width
        self.layers = layers
        self.labels = labels or []
        self.units = units or []
        self.dropout = dropout
        self.question_tokens = question_tokens
        self.fact_tokens = fact_tokens
        self.distance = distance
        super().__init__(**kwargs)
        if width % self.heads:
            raise ValueError(f"width is {width}, allowed: multiples of 64, or less than 128")

    @property
    def heads(self) -> int:
        """Attention heads, each of width 64."""
        return max(1, self.width // 64)


@dataclass(frozen=True)
class Evidence:
    """The evidence of ``q`` questions.

    Args:
        facts: ``[q, c]`` each question's facts in the order of its graph, as indices into the facts of the batch,
            padded with −1.
        depth: ``[q, c]`` number of edges from the question to each fact, on the longest path.
        leaf: ``[q, c]`` bool, true for a fact without successors.
        case: ``[total]`` what each token of the facts of each question in turn begins with (`CASES`).
        names: ``[n, 2]`` first and last token of each name, as indices into these tokens, ascending.
        ways: ``[n, NAME_WAYS]`` what is known of it, 0 or 1.
    """

    facts: Tensor
    depth: Tensor
    leaf: Tensor
    case: Tensor
    names: Tensor
    ways: Tensor

    def to(self, *args: Any, **kwargs: Any) -> Evidence:
        return Evidence(*(getattr(self, one.name).to(*args, **kwargs) for one in fields(self)))


@dataclass(frozen=True)
class ReaderScores:
    """Logits of everything that answers are made of. ``f`` counts the facts of each question in turn, ``total`` their
    tokens.

    Args:
        kind: ``[q, K]`` of each of `KINDS`.
        yes: ``[q]`` of *yes* against *no*.
        operator: ``[q, O]`` of each of `OPERATORS`.
        asked_operator: of each token of the questions, `OPERATORS` by what stands around a number, to add to these.
        most: ``[q]`` of the most against the least.
        label: ``[f, L]`` of each of the configuration's labels, as a fact says it.
        support: ``[f]`` that a fact is what is asked for: it holds the answer, is compared, or is counted.
        start, end: ``[total]`` that a span begins or ends at a token.
        first, last: ``[total, PAIR]`` vectors, whose inner product says whether a span begins here and ends there.
        length: ``[LONGEST_SPAN]`` of a span's number of tokens.
        named: ``[n]`` of a span's being a name of the evidence.
        quantity: ``[total]`` that the number of a token is what is asked for, −inf without a number.
        unit: ``[total, U]`` of each of the configuration's units.
        asked: of each token of the questions that its number is what a fact is compared with, −inf without a number.
        asked_lengths: ``[q]`` tokens of each question.
        lengths: ``[f]`` tokens of each fact.
        question: ``[f]`` the question of each fact.
        case, names: as in `Evidence`.
        distance: ``[q]`` how unlike the training questions a question is; 0 if that is not known.
    """

    kind: Tensor
    yes: Tensor
    operator: Tensor
    asked_operator: Tensor
    most: Tensor
    label: Tensor
    support: Tensor
    start: Tensor
    end: Tensor
    first: Tensor
    last: Tensor
    length: Tensor
    named: Tensor
    quantity: Tensor
    unit: Tensor
    asked: Tensor
    asked_lengths: Tensor
    lengths: Tensor
    question: Tensor
    case: Tensor
    names: Tensor
    distance: Tensor

    def spans(self, begin: int, tokens: int) -> Tensor:
        """Logits of the spans of a fact whose first token is number `begin`: ``[tokens, tokens]``, from the row's token
        to the column's; −inf for what is no span: with special tokens, with a part of a word, or too long."""
        rows = slice(begin, begin + tokens)
        pairs = self.start[rows, None] + self.end[None, rows]
        pairs = pairs + self.first[rows] @ self.last[rows].T / PAIR**0.5
        first, last = torch.searchsorted(
            self.names[:, 0].contiguous(), self.names.new_tensor([begin, begin + tokens])
        ).tolist()
        start, end = (self.names[first:last] - begin).unbind(1)
        pairs = pairs.index_put((start, end), self.named[first:last].to(pairs.dtype), accumulate=True)
        place = torch.arange(tokens, device=pairs.device)
        steps = place[None] - place[:, None]
        inside = (place > 0) & (place < tokens - 1)
        starts = inside & (self.case[rows] != INSIDE)
        ends = inside & (torch.roll(self.case[rows], -1) != INSIDE)
        allowed = (steps >= 0) & (steps < LONGEST_SPAN) & starts[:, None] & ends[None]
        return (pairs + self.length[steps.clamp(0, LONGEST_SPAN - 1)]).masked_fill(~allowed, float("-inf"))


class ExtractiveReaderModel(PreTrainedModel):
    """Scores the parts of an answer."""

    config_class = ExtractiveReaderConfig
    config: ExtractiveReaderConfig
    base_model_prefix = "reader"
    _no_split_modules = ["BertLayer"]  # noqa: RUF012

    def __init__(self, config: ExtractiveReaderConfig) -> None:
        super().__init__(config)
        width = config.width
        self.encoder = SentenceStates(config.encoder, frozen_layers=config.frozen_layers)
        self.project = Projection(config.encoder.hidden_size, width, words=True)
        self.match_tokens = TokenMatch()
        self.asked = TokenMarks(width=width)
        self.told = nn.Linear(WAYS, width, bias=False)
        self.numbers = NumberMarks(width=width)
        self.place = nn.Embedding(1 + DEPTHS, width)
        self.leaf = nn.Parameter(torch.zeros(width))
        self.case = nn.Embedding(CASES, width)
        self.layers = nn.ModuleList(
            PackedLayer(width=width, heads=config.heads, dropout=config.dropout) for _ in range(config.layers)
        )
        self.norm = nn.LayerNorm(width)
        self.of_question = nn.Linear(width, len(KINDS) + len(OPERATORS) + 2)
        self.asked_number = nn.Linear(2 * width, 1 + len(OPERATORS))
        self.support = nn.Sequential(nn.Linear(3 * width, width), nn.GELU(), nn.Linear(width, 1))
        labels = nn.Linear(width, len(config.labels)) if config.labels else nn.Identity()  # not initialized if empty
        self.label = nn.Sequential(nn.Linear(3 * width, width), nn.GELU(), labels)
        self.pointer = nn.Sequential(
            nn.Linear(2 * width, width), nn.GELU(), nn.Linear(width, 3 + 2 * PAIR + len(config.units))
        )
        self.length = nn.Parameter(torch.zeros(LONGEST_SPAN))
        self.named = nn.Sequential(nn.Linear(NAME_WAYS + width, PAIR), nn.GELU(), nn.Linear(PAIR, 1))
        self.distance = QuestionDistance(width=config.encoder.hidden_size) if config.distance else None
        nn.init.normal_(self.place.weight, std=0.3)
        nn.init.normal_(self.told.weight, std=0.5)
        nn.init.normal_(self.case.weight, std=0.5)
        round_linears(self)
        self.post_init()
        self.encoder.freeze()

    def _init_weights(self, module: nn.Module) -> None:
        """Do nothing: every part initializes itself in its constructor."""

    def forward(self, questions: Rows, facts: Rows, evidence: Evidence) -> ReaderScores:
        """*Shape:* ``questions.flat``, ``facts.flat [total]`` token ids, or ``[total, d]`` states from
        ``encoder.lower``."""
        layout = Layout.of(evidence.facts)
        there = evidence.facts >= 0
        encoded = self._encoded(questions)
        asked, told = self._projected(encoded), self._projected(self._encoded(facts)).select(evidence.facts[there])
        sentences = Rows.cat([asked, told])
        states = self._marked(asked, told, sentences, layout, evidence)
        states = self.norm(attend_jointly(self.layers, Ragged(states, sentences.lengths), layout.question))
        first = states[sentences.starts]  # [CLS] of each sentence
        count, tokens = len(asked), len(asked.flat)
        question = layout.question[count:]
        kind, operator, yes, most = self.of_question(first[:count]).split([len(KINDS), len(OPERATORS), 1, 1], 1)
        mean = Ragged(states[tokens:], told.lengths).padded().sum(1) / told.lengths[:, None]
        of_fact = torch.cat([first[count:], mean, first[question]], 1)
        of_token = first[question.repeat_interleave(told.lengths)]
        points = self.pointer(torch.cat([states[tokens:], of_token], 1))
        start, end, quantity, begins, ends, unit = points.split([1, 1, 1, PAIR, PAIR, len(self.config.units)], 1)
        of_asked = first[torch.arange(count, device=first.device).repeat_interleave(asked.lengths)]
        number, around = self.asked_number(torch.cat([states[:tokens], of_asked], 1)).split([1, len(OPERATORS)], 1)
        return ReaderScores(
            kind=kind,
            yes=yes.squeeze(1),
            operator=operator,
            asked_operator=around,
            most=most.squeeze(1),
            label=self.label(of_fact)[:, : len(self.config.labels)],
            support=self.support(of_fact).squeeze(1),
            start=start.squeeze(1),
            end=end.squeeze(1),
            first=begins,
            last=ends,
            length=self.length,
            named=self.named(torch.cat([evidence.ways.to(states.dtype), of_token[evidence.names[:, 0]]], 1)).squeeze(1),
            quantity=quantity.squeeze(1).masked_fill(told.numbers.isnan(), float("-inf")),
            unit=unit,
            asked=number.squeeze(1).masked_fill(asked.numbers.isnan(), float("-inf")),
            asked_lengths=asked.lengths,
            lengths=told.lengths,
            question=question,
            case=evidence.case,
            names=evidence.names,
            distance=kind.new_zeros(count) if self.distance is None else self.distance(encoded),
        )

    def question_vectors(self, questions: Rows) -> Tensor:
        """``[q, d]``, by which `distance` tells questions apart."""
        return question_vectors(self._encoded(questions))

    def learn_distance(self, vectors: Tensor) -> None:
        """From now on know how unlike some questions others are: ``[n, d]`` of `question_vectors`."""
        self.config.distance = True
        self.distance = QuestionDistance(width=vectors.shape[1])
        self.distance.learn(vectors)
        self.distance.to(self.device)

    def _encoded(self, rows: Rows) -> Rows:
        states = self.encoder.upper(rows) if rows.flat.is_floating_point() else self.encoder(rows)
        return replace(rows, flat=states.flat)

    def _projected(self, encoded: Rows) -> Rows:
        words = self.encoder.bert.embeddings.word_embeddings.weight
        return replace(encoded, flat=self.project(encoded.flat, encoded.ids, words))

    def _marked(self, asked: Rows, told: Rows, sentences: Rows, layout: Layout, evidence: Evidence) -> Tensor:
        """The states of all tokens with what the other sentences say of them, and the place of their fact."""
        matches = self.match_tokens(sentences, layout)
        states = sentences.flat + self.asked(matches, sentences.lengths, layout)
        tokens = len(asked.flat)
        own = layout.column.repeat_interleave(sentences.lengths)
        among = matches.scatter(2, own[:, None, None].expand(-1, WAYS, -1), -2.0)[tokens:, :, 1:].amax(2)
        there = evidence.facts >= 0
        depth, leaf = evidence.depth[there], evidence.leaf[there]
        marks = self.told(among) + self.leaf * leaf.repeat_interleave(told.lengths)[:, None] + self.case(evidence.case)
        states = states + torch.cat([marks.new_zeros(tokens, marks.shape[1]), marks])
        states = states + torch.cat(self.numbers(asked, told, layout.question[len(asked) :]))
        place = torch.cat([torch.zeros_like(layout.question[: len(asked)]), depth.clamp(1, DEPTHS)])
        marked: Tensor = states + self.place(place.repeat_interleave(sentences.lengths))
        return marked
