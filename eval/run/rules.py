"""The reconstruction rules of one checkpoint as systems to score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bgr.data.example import Example
from bgr.pipeline import BgrPipeline
from bgr.retrievers.graph_hop.reconstruction import RULES, check_rule
from bgr.retrievers.llm_graph.reader import open_reader
from eval.run.evaluate import Directions, Predictions
from eval.run.sweep import SINGLE
from eval.systems.options import EvaluateOptions


@dataclass(frozen=True)
class CheckpointRules:
    """A loaded checkpoint with the γ of each chosen rule; `main` is the rule to break down."""

    pipeline: BgrPipeline
    gammas: Mapping[str, float]
    main: str
    batch_size: int

    @classmethod
    def load(cls, options: EvaluateOptions) -> CheckpointRules | None:
        """The rules that the options choose; ``None`` without a checkpoint.

        Raises:
            BgrError: a rule is unknown, or the checkpoint is damaged.
        """
        if options.checkpoint is None:
            return None
        rules = chosen_rules(options.rule)
        machine: dict[str, Any] = {"device": options.device, "precision": options.precision}
        reader = None if options.reader is None else open_reader(options.reader, server=options, **machine)
        pipeline = BgrPipeline.from_pretrained(options.checkpoint, reader=reader, **machine)
        settings = pipeline.settings
        gammas = {rule: settings.gamma(rule) if options.gamma is None else options.gamma for rule in rules}
        return cls(pipeline, gammas, settings.rule if settings.rule in rules else rules[0], options.batch_size)

    def run(self, examples: Sequence[Example]) -> dict[str, Predictions]:
        """The predictions by rule; both directions run once."""
        found = Directions.run(self.pipeline, examples, self.batch_size)
        return {rule: found.predictions(rule, gamma) for rule, gamma in self.gammas.items()}

    def about(self, options: EvaluateOptions) -> dict[str, Any]:
        """The settings for the report."""
        return {
            "checkpoint": str(options.checkpoint),
            "checkpoint_recipe": self.pipeline.settings.recipe,
            "precision": self.pipeline.precision,
            "gammas": dict(self.gammas),
            "fused_threshold": self.pipeline.settings.fused_threshold,
            "main_rule": self.main,
        }


def chosen_rules(names: Sequence[str] | None) -> list[str]:
    """The rules that were named, or all rules, single directions first."""
    rules = names or [*SINGLE, *(rule for rule in RULES if rule not in SINGLE)]
    for rule in rules:
        check_rule(rule)
    return list(dict.fromkeys(rules))
