import json
import shutil

import pytest
import torch
from safetensors.torch import load_file

from bgr.errors import BgrError, CheckpointError, DataError
from bgr.pipeline import BgrPipeline
from bgr.released import checkpoint_folder
from bgr.retrievers.graph_hop.export import export
from bgr.retrievers.graph_hop.options import ExportOptions
from bgr.retrievers.llm_graph.reader import LlmReader

FACTS = ["Paris lies in France .", "Rome lies in Italy .", "Persona was made in Sweden ."]
QUESTION = "In which country was Persona made ?"


def files(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("precision", ["32", pytest.param("bf16", marks=pytest.mark.workflow)])
@pytest.mark.parametrize("half", [False, True])
def test_saving_equals_an_export(small_checkpoint, tmp_path, precision, half):
    expected = export(ExportOptions(run=small_checkpoint, out=tmp_path / "exported", half=half))
    pipeline = BgrPipeline.from_pretrained(small_checkpoint, device="cpu", precision=precision)
    answer = pipeline.answer(QUESTION, FACTS)
    saved = pipeline.save_pretrained(tmp_path / "saved", half=half)
    assert files(saved) == files(expected)
    assert pipeline.answer(QUESTION, FACTS) == answer
    if not half:
        assert BgrPipeline.from_pretrained(saved, device="cpu", precision=precision).answer(QUESTION, FACTS) == answer


@pytest.mark.workflow
def test_the_released_weights_are_saved_whole(tmp_path):
    pipeline = BgrPipeline.from_pretrained(device="cpu")
    saved = pipeline.save_pretrained(tmp_path / "saved", half=True, without_encoder=True)
    there, here = files(checkpoint_folder()), files(saved)
    assert there.keys() == here.keys()
    for name in there:
        if name.endswith(".safetensors"):
            one, two = load_file(checkpoint_folder() / name), load_file(saved / name)
            assert one.keys() == two.keys()
            assert all(torch.equal(one[key], two[key]) for key in one)
        elif name not in ("README.md", "SHA256SUMS"):
            assert json_or_text(here[name]) == json_or_text(there[name]), name


def json_or_text(content):
    try:
        record = json.loads(content)
    except ValueError:
        return content
    # the version that wrote it, and the limits of the tokenizer's last call
    left_out = ("transformers_version", "truncation", "padding")
    return {k: v for k, v in record.items() if k not in left_out} if isinstance(record, dict) else record


def test_changed_settings_are_saved(small_checkpoint, tmp_path):
    pipeline = BgrPipeline.from_pretrained(small_checkpoint, precision="bf16")
    pipeline.settings = type(pipeline.settings)(rule="forward")
    pipeline.forward.config.threshold = 0.25
    again = BgrPipeline.from_pretrained(pipeline.save_pretrained(tmp_path / "saved"))
    assert (again.settings.rule, again.forward.config.threshold) == ("forward", 0.25)


def test_rounded_weights_are_never_saved(small_checkpoint, tmp_path):
    pipeline = BgrPipeline.from_pretrained(small_checkpoint, device="cpu", precision="bf16")
    with torch.no_grad():
        pipeline.forward.matcher.of_fact.weight += 1
    with pytest.raises(CheckpointError, match=r"matcher\.of_fact\.weight is rounded to bfloat16 and differs from"):
        pipeline.save_pretrained(tmp_path / "saved")
    parts = pipeline.forward, pipeline.backward, pipeline.tokenizer, pipeline.settings
    with pytest.raises(CheckpointError, match="rounded to bfloat16; load the pipeline with precision='32'"):
        BgrPipeline(*parts, device="cpu", precision="bf16").save_pretrained(tmp_path / "saved")
    shutil.rmtree(small_checkpoint)
    with pytest.raises(BgrError, match="no such file"):
        pipeline.save_pretrained(tmp_path / "saved")
    assert list(tmp_path.iterdir()) == []


def test_changed_weights_in_float32_are_saved(small_checkpoint, tmp_path):
    pipeline = BgrPipeline.from_pretrained(small_checkpoint, device="cpu", precision="32")
    with torch.no_grad():
        pipeline.forward.matcher.of_fact.weight += 1
    again = BgrPipeline.from_pretrained(pipeline.save_pretrained(tmp_path / "saved"), device="cpu", precision="32")
    assert torch.equal(again.forward.matcher.of_fact.weight, pipeline.forward.matcher.of_fact.weight)


def test_a_folder_is_replaced_only_on_request(small_checkpoint, tmp_path):
    pipeline = BgrPipeline.from_pretrained(small_checkpoint)
    saved = pipeline.save_pretrained(tmp_path / "saved")
    with pytest.raises(DataError, match="exists already"):
        pipeline.save_pretrained(saved)
    (saved / "note").touch()
    pipeline.save_pretrained(saved, overwrite=True)
    assert not (saved / "note").exists()


def test_a_language_model_is_no_part_of_a_checkpoint(small_checkpoint, tmp_path):
    pipeline = BgrPipeline.from_pretrained(small_checkpoint)
    pipeline.reader = LlmReader.__new__(LlmReader)
    with pytest.raises(BgrError, match="a language model cannot be stored in a checkpoint"):
        pipeline.save_pretrained(tmp_path / "saved")
    assert not (tmp_path / "saved").exists()
