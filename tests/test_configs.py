"""Every shipped configuration parses, and opens with the command that runs it."""

from pathlib import Path

import pytest
import yaml

FOLDER = Path(__file__).parents[1] / "configs"
FILES = sorted([*FOLDER.rglob("*.yaml"), *FOLDER.rglob("*.yml")])


def test_there_are_configs():
    assert FILES


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_it_parses_and_names_its_command(path):
    text = path.read_text(encoding="utf-8")
    assert isinstance(yaml.safe_load(text), dict)
    first = text.splitlines()[0]
    assert first.startswith("#"), f"{path}: the first line must be a comment with the command that runs this"
    assert "bgr " in first, f"{path}: no command in the first line: {first}"
    assert path.stem in first, f"{path}: the command does not name this config: {first}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_no_key_is_written_twice(path):
    """YAML keeps the last of two equal keys without a word."""

    def check(node: yaml.Node) -> None:
        if isinstance(node, yaml.MappingNode):
            keys = [key.value for key, _ in node.value]
            assert len(keys) == len(set(keys)), f"{path}, line {node.start_mark.line + 1}: a key stands twice: {keys}"
            for _, value in node.value:
                check(value)
        elif isinstance(node, yaml.SequenceNode):
            for value in node.value:
                check(value)

    check(yaml.compose(path.read_text(encoding="utf-8")))
