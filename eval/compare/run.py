"""`bgr compare`: systems on the same questions, compared by evidence graphs or by passages."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

from bgr.errors import BgrError, DataError
from bgr.utils.atomic_io import complete_folder, output_folder
from eval.compare.compare import Comparison
from eval.compare.passages import PassageComparison
from eval.systems.options import PASSAGES_ONLY, CompareOptions
from eval.systems.spec import KNOWN, SystemSpec, parse_specs


def compare(options: CompareOptions) -> Comparison | PassageComparison:
    """Read or run, score and compare the systems, and write the report: by passages if the data is a file, a system
    retrieves only passages, or a scope is given; else by evidence graphs.

    Raises:
        BgrError: the options contradict each other, or a file is damaged.
    """
    return _compare_passages(options) if _is_on_passages(options) else _compare_graphs(options)


def _given(options: CompareOptions, name: str) -> bool:
    """Whether an option has another value than its default."""
    return bool(getattr(options, name) != CompareOptions.__dataclass_fields__[name].default)


def _is_on_passages(options: CompareOptions) -> bool:
    if not options.data.exists():
        raise DataError(f"{options.data}: no such file or folder")
    only = [f"--{name.replace('_', '-')}" for name in PASSAGES_ONLY if _given(options, name)]
    named = {text for text in options.systems if text in {*KNOWN} - {"bm25"} or SystemSpec.parse_method(text)}
    passages = options.data.is_file() or bool(named) or options.scope is not None
    of_graphs = [f"--{name}" for name in ("main", "sweep") if getattr(options, name) is not None]
    if passages and of_graphs:
        raise BgrError(f"{of_graphs[0]} is for graphs alone, and these systems are run on passages")
    if passages and options.data.is_file() and options.split != "test":
        raise BgrError(f"--split is for datasets, and {options.data} is a file")
    if only and not passages:
        raise BgrError(f"{only[0]} is for passages, allowed there: --systems {' '.join(KNOWN)}")
    return passages


def _compare_graphs(options: CompareOptions) -> Comparison:
    from eval.compare.compare import compare as compare_evaluations
    from eval.report.comparison import write_comparison
    from eval.run.evaluate import evaluate
    from eval.run.read_evaluation import check_hash
    from eval.run.sweep import read_sweep
    from eval.systems.graphs import gather

    # opened first, so that an existing folder is reported before the work
    with output_folder(options.out, overwrite=options.overwrite) as folder:
        sweep = read_sweep(options.sweep) if options.sweep else None
        systems, examples, main, about = gather(options)
        if options.sweep is not None and sweep is not None:
            check_hash(options.sweep, sweep["about"], options.data, about["data_hash"])
        evaluations = evaluate(systems, examples, ged_seconds=options.ged_seconds, progress=True)
        found = compare_evaluations(evaluations, examples, main, about, samples=options.samples, seed=options.seed)
        write_comparison(folder, found, sweep)
    return found


def _compare_passages(options: CompareOptions) -> PassageComparison:
    from eval.compare.passages import compare_passages
    from eval.report.passages import write_passages
    from eval.run.passage_scores import score
    from eval.systems.resources import Resources
    from eval.systems.retrievers import passage_systems
    from eval.systems.study import about_files, check_contexts, load_questions, open_output, run_all

    options = replace(options, scope=options.scope or ("question" if options.data.is_dir() else "corpus"))
    specs = parse_specs(options.systems)
    _check(options, specs)
    data = load_questions(options, options.split).first(options.limit)
    if options.scope == "question":
        check_contexts(data, "--scope question", "--scope corpus")
    with closing(Resources(options, data.of_contexts() if options.scope == "question" else data)) as resources:
        resources.check()
        if any(spec.method is not None and spec.method.follows_triples for spec in specs):
            data = data.with_density(resources.triples)
        systems = passage_systems(specs, data, resources, options)  # loads models: errors come before old results go
        open_output(options)
        found = run_all(options, systems, data)
        scores = [score(one.name, of_one, data, ged_seconds=options.ged_seconds) for one, of_one in found]
        price = None if options.price is None else list(options.price)
        about = about_files(options) | {"scope": options.scope, "price": price, **resources.about}
        comparison = compare_passages(
            scores, data, about, samples=options.samples, seed=options.seed, price=resources.price
        )
        write_passages(options.out, comparison)
        complete_folder(options.out)
        return comparison


def _check(options: CompareOptions, specs: list[SystemSpec]) -> None:
    """Check that the options that the systems need are given."""
    has_triples = options.openie is not None or options.collection is not None or options.data.is_dir()
    for spec in specs:
        method = spec.method
        if method is not None and method.follows_triples and not has_triples:
            raise BgrError(f"--systems: {spec.label} goes along triples: give --openie FILE")
        if ((method is not None and method.asks) or spec.is_llm_graph) and options.llm is None:
            raise BgrError(f"--systems: {spec.label} asks a language model: give --llm SPEC")
        if spec.is_llm_graph and options.data.is_dir() and options.split == "train":
            raise BgrError(f"--systems: {spec.label} is shown questions of the train split: give --split dev or test")
