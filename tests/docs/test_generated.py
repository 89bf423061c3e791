"""The pages that are made from other sources, and the list of pages."""

import importlib.util
import re
from dataclasses import fields
from pathlib import Path

import pytest

from bgr.cli.parser import Group
from bgr.utils.options import flag

ROOT = Path(__file__).parents[2]


def hook():
    spec = importlib.util.spec_from_file_location("generated", ROOT / "docs/hooks/generated.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def sections():
    """The text of each command, by its heading."""
    parts = re.split(r"^#+ (bgr .*)$", hook().cli_reference(), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def commands(name, entry):
    yield name, entry
    if isinstance(entry, Group):
        for word, each in entry.commands.items():
            yield from commands(f"{name} {word}", each)


def test_each_command_and_option_is_in_the_reference(sections):
    found = set()
    for word in hook().COMMANDS:
        for name, entry in commands(f"bgr {word}", importlib.import_module(f"bgr.cli.{word}").command()):
            found.add(name)
            if isinstance(entry, Group):
                continue
            options = [one for one in fields(entry.options) if not one.metadata.get("hidden")]
            for option in options:
                if not option.metadata.get("positional"):
                    assert re.search(rf"`{flag(option)}[ `]", sections[name]), (name, option.name)
            rows = len(re.findall(r"^\| `", sections[name], flags=re.M))
            own_config = "config" in {one.name for one in options}
            assert rows == len(options) + entry.json + (not own_config), name
    assert found == set(sections)


def test_the_text_of_an_option_stands_beside_it(sections):
    assert "| `--no-such-option" not in sections["bgr ask"]
    row = next(line for line in sections["bgr collection search"].splitlines() if line.startswith("| `-k N`"))
    assert row == "| `-k N`, `--k N` | number of texts for each question (default: 10) |"


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("at most 5 %% of a|b", "at most 5 % of a\\|b"),
        ("a <name> in $BGR_CACHE", "a &lt;name> in $BGR\\_CACHE"),
        ("see `a_b|c` [now]", "see `a_b\\|c` \\[now\\]"),
    ],
)
def test_help_has_no_markup_but_code(text, markdown):
    assert hook()._text(text) == markdown


def test_the_changelog_is_the_page_with_links_that_lead_on():
    text = hook().changelog()
    assert text.startswith("# Changelog\n")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (ROOT / "docs" / target).exists(), target


def test_each_page_is_in_the_navigation():
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    listed = re.findall(r": (\S+\.(?:md|ipynb))$", nav, flags=re.M)
    docs = ROOT / "docs"
    pages = {str(page.relative_to(docs)) for kind in ("*.md", "*.ipynb") for page in docs.rglob(kind)}
    assert set(listed) == pages | {"cli.md", "changelog.md"}
    assert len(listed) == len(set(listed))


def test_links_of_the_readme_lead_to_files():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (ROOT / target).exists(), target
