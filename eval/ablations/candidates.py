"""`bgr ablate candidates`: the same questions with more and fewer candidates, of several kinds."""

from __future__ import annotations

from collections.abc import Iterable

from bgr.data.reasongraphqa.candidate_sets import CandidateSets
from bgr.data.reasongraphqa.io.dataset import dataset_hash, load_split, recipe_of
from bgr.errors import BgrError, DataError
from bgr.retrievers.base import Retriever
from bgr.utils.atomic_io import output_folder
from bgr.utils.devices import pick_device
from bgr.utils.json_utils import repr_short
from eval.ablations.candidate_points import CandidateStudy, measure, settings_of
from eval.ablations.candidates_report import write_candidates
from eval.ablations.options import AblateCandidatesOptions, SystemsOptions
from eval.systems.retrievers import load_baseline_rows, load_place
from eval.systems.spec import SystemSpec

MAIN = "bgr"
"""Name of the checkpoint."""


def ablate_candidates(options: AblateCandidatesOptions) -> CandidateStudy:
    """Run all systems with all settings, and write the report.

    Raises:
        BgrError: a system is unknown or fails with every setting, the checkpoint or the data are damaged, or the folder
            exists.
    """
    # opened first: a folder that is in the way is reported before the work
    with output_folder(options.out, overwrite=options.overwrite) as folder:
        examples = load_split(options.data, options.split)[: options.limit]
        if not examples:
            raise DataError(f"{options.data}: the split {options.split!r} is empty")
        sets = CandidateSets.read(options.data, seed=options.seed, progress=True)
        systems = load_systems(options)
        points = measure(
            systems,
            examples,
            sets,
            settings_of(options.sizes, options.fill),
            batch_size=options.batch_size,
            device=pick_device(options.device),
            progress=True,
        )
        about = {
            "checkpoint": str(options.checkpoint),
            "data": str(options.data),
            "recipe": recipe_of(options.data),
            "data_hash": dataset_hash(options.data),
            "split": options.split,
            "questions": len(examples),
            "facts": len(sets.table),
            "batch_size": options.batch_size,
            "seed": options.seed,
        }
        found = CandidateStudy(points, about)
        write_candidates(folder, found)
    return found


def load_systems(options: SystemsOptions) -> dict[str, Retriever]:
    """The checkpoint and the other systems by name; see `load_others` for the errors."""
    return _load(options, [SystemSpec(MAIN, str(options.checkpoint)), *map(SystemSpec.parse, options.systems)])


def load_others(options: SystemsOptions) -> dict[str, Retriever]:
    """The systems beside the checkpoint, by name.

    Raises:
        BgrError: two systems have the same name, one holds finished graphs, or a folder is damaged.
    """
    return _load(options, map(SystemSpec.parse, options.systems), MAIN)


def _load(options: SystemsOptions, specs: Iterable[SystemSpec], *taken: str) -> dict[str, Retriever]:
    from bgr.retrievers.baselines.baseline_config import SETTINGS
    from bgr.retrievers.graph_hop.reconstruction import check_rule

    systems: dict[str, Retriever] = {}
    for spec in specs:
        if not spec.is_baseline and spec.is_evaluation:
            raise BgrError(f"--systems: {repr_short(spec.place)} holds finished graphs; name the checkpoint")
        if spec.is_baseline or (spec.path / SETTINGS).is_file():
            rows = load_baseline_rows(spec, options, seed=options.seed)
        else:
            if spec.part is not None:
                check_rule(spec.part)
            rows = {spec.label: load_place(spec, options)}
        for name, retriever in rows.items():
            if name in systems or name in taken:
                raise BgrError(f"--systems: two systems have the name {repr_short(name)}; give one another: NAME=PLACE")
            systems[name] = retriever
    return systems
