"""`bgr atlas`."""

from __future__ import annotations

from bgr.cli.parser import Command, Output
from bgr.data.options import AtlasOptions


def command() -> Command:
    return Command(
        summary="write Atlas, a knowledge base of films, places, languages and chemistry, as KQA Pro files",
        description="""The folder holds kb.json, train.json and val.json (nine tenths and one tenth of the questions) in
            the schema of KQA Pro 1.0; hand_worded.json with the questions worded by hand that this knowledge base
            answers; and atlas.json with the counts, the seed, the versions and licenses of the data packages and the
            files' SHA-256. Nothing is downloaded.""",
        options=AtlasOptions,
        run=run,
        example="bgr atlas --out work/atlas --questions 2000",
        json=False,
    )


def run(options: AtlasOptions) -> Output:
    from bgr.data.atlas.build import write_atlas

    written = write_atlas(options)
    questions = f"{written.train:,} + {written.val:,} questions"
    return Output(f"{written.folder}: {written.entities:,} entities, {questions}")
