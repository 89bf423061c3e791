"""The files of the repository agree: version, configuration of its tools, and what they name."""

import re
import tomllib
from pathlib import Path

import yaml

import bgr

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_all_files_have_the_same_version():
    citation = yaml.safe_load(read("CITATION.cff"))
    versions = re.findall(r"^## (\d+\.\d+\.\d+) - (\d{4}-\d\d-\d\d)$", read("CHANGELOG.md"), re.M)
    assert versions[0] == (bgr.__version__, str(citation["date-released"]))
    assert citation["version"] == bgr.__version__
    assert f"| {'.'.join(bgr.__version__.split('.')[:2])}.x | yes |" in read("SECURITY.md")


def test_the_changelog_has_the_sections_of_its_form():
    text = read("CHANGELOG.md")
    assert "\n## Unreleased\n" in text
    sections = set(re.findall(r"^### (.*)$", text, re.M))
    assert sections <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def make_targets():
    return set(re.findall(r"^([a-z]+):", read("Makefile"), re.M))


def workflows():
    return {path.name: yaml.safe_load(path.read_text()) for path in (ROOT / ".github/workflows").glob("*.yml")}


def test_workflows_have_few_rights_and_pinned_actions():
    found = workflows()
    assert set(found) == {"ci.yml", "long.yml"}
    for workflow in found.values():
        assert workflow["permissions"] == {"contents": "read"}
        for job in workflow["jobs"].values():
            assert "permissions" not in job
            assert job["timeout-minutes"] > 0
            for step in job["steps"]:
                assert re.fullmatch(r"actions/[a-z-]+@v\d+", step.get("uses", "actions/x@v1"))


def test_workflows_test_the_versions_of_python_that_are_promised():
    versions = workflows()["ci.yml"]["jobs"]["tests"]["strategy"]["matrix"]["python"]
    promised = [text.rpartition(" ")[2] for text in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d", text)]
    assert versions == promised
    assert PROJECT["requires-python"] == f">={versions[0]}"


def test_commands_of_the_workflows_and_of_contributing_exist():
    named = re.findall(r"\bmake ([a-z]+)", "\n".join([read("CONTRIBUTING.md"), *map(str, workflows().values())]))
    assert set(named) - {"docs"} <= make_targets()


def test_hooks_are_local_and_their_programs_are_dependencies():
    config = yaml.safe_load(read(".pre-commit-config.yaml"))
    assert [repository["repo"] for repository in config["repos"]] == ["local"]
    programs = {hook["entry"].split()[0] for repository in config["repos"] for hook in repository["hooks"]}
    from importlib.metadata import entry_points

    assert programs - {"ruff"} <= {one.name for one in entry_points(group="console_scripts")}


def test_the_image_is_built_from_what_the_wheel_is_built_from():
    allowed = {line[1:] for line in read(".dockerignore").splitlines() if line.startswith("!")}
    assert {"pyproject.toml", "README.md", "LICENSE", "constraints.txt"} <= allowed
    packages = tomllib.loads(read("pyproject.toml"))["tool"]["setuptools"]["packages"]["find"]["include"]
    assert {name.partition(".")[0] for name in packages} <= allowed
    assert "USER 1000" in read("Dockerfile")
    extras = re.search(r"bgr-\*\.whl\)\[([a-z,]+)\]", read("Dockerfile")).group(1)
    assert set(extras.split(",")) <= PROJECT["optional-dependencies"].keys()
