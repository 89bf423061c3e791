"""A double of the Hugging Face Hub's HTTP API on loopback: repositories of models, in memory.

The client (`huggingface_hub`) is the real one. The double has the routes that uploads and downloads use, with large
files by Git LFS.
"""

import base64
import hashlib
import json
import re
import socket
import threading
import time
from dataclasses import dataclass, field

import pytest
import uvicorn
import yaml
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from huggingface_hub import constants

TOKEN = "hf_loopback"


@dataclass
class Repo:
    private: bool
    branches: dict[str, str] = field(default_factory=lambda: {"main": commit_id({})})
    commits: dict[str, dict[str, bytes]] = field(default_factory=lambda: {commit_id({}): {}})


def commit_id(files):
    content = [(name, hashlib.sha1(files[name]).hexdigest()) for name in sorted(files)]
    return hashlib.sha1(json.dumps(content).encode()).hexdigest()


LICENSES = {"apache-2.0", "mit", "cc-by-4.0", "cc-by-sa-4.0", "other", "unknown"}
TASKS = {"question-answering", "text-retrieval", "text-generation"}
TEXTS = {"pretty_name", "library_name", "license_name", "license_link", "base_model"}


def card_problems(content, kind):
    """Those rules of the Hub's metadata that cards of this package can break; names are not checked further."""
    front = re.match(r"---\n(.*?\n)---\n", content, re.DOTALL)
    data = yaml.safe_load(front[1]) if front else None
    if not isinstance(data, dict):
        yield "no front matter"
        return
    for name, value in data.items():
        many = value if isinstance(value, list) else [value]
        if name == "license":
            right = value in LICENSES and (value != "other" or {"license_name", "license_link"} <= data.keys())
        elif name == "language":
            right = all(re.fullmatch("[a-z]{2,3}", str(one)) for one in many)
        elif name == ("pipeline_tag" if kind == "model" else "task_categories"):
            right = TASKS.issuperset(many)
        elif name == "tags":
            right = isinstance(value, list) and all(isinstance(one, str) for one in value)
        elif kind == "dataset" and name == "size_categories":
            right = all(re.fullmatch(r"n<1K|10*K<n<10*K|100K<n<1M|n>1M", one) for one in many)
        elif kind == "dataset" and name in ("configs", "dataset_info"):
            right = all("config_name" in one for one in many)
        else:
            right = name in TEXTS and isinstance(value, str) and value
        if not right:
            yield f'"{name}" is not valid: {value!r}'


def refusal(status, code, message):
    return JSONResponse({"error": message}, status, {"X-Error-Code": code, "X-Error-Message": message})


class HubDouble:
    """`repos` by ``owner/name``; `requests` lists the path of every request."""

    def __init__(self):
        self.repos: dict[str, Repo] = {}
        self.large: dict[str, bytes] = {}
        self.requests: list[str] = []
        self.down = False
        self.app = FastAPI()
        routes = [
            ("POST", "/api/repos/create", self.create),
            ("POST", "/api/validate-yaml", self.validate),
            ("POST", "/api/models/{owner}/{name}/branch/{branch}", self.branch),
            ("POST", "/api/models/{owner}/{name}/preupload/{revision}", self.preupload),
            ("POST", "/{owner}/{name}.git/info/lfs/objects/batch", self.batch),
            ("PUT", "/large/{oid}", self.put),
            ("POST", "/api/models/{owner}/{name}/commit/{revision}", self.commit),
            ("GET", "/api/models/{owner}/{name}", self.info),
            ("GET", "/api/models/{owner}/{name}/revision/{revision}", self.info),
            ("GET", "/api/models/{owner}/{name}/tree/{revision}", self.tree),
            ("HEAD", "/{owner}/{name}/resolve/{revision}/{path:path}", self.resolve),
            ("GET", "/{owner}/{name}/resolve/{revision}/{path:path}", self.resolve),
        ]
        for method, path, answer in routes:
            self.app.add_route(path, self.guarded(answer), methods=[method])

    def guarded(self, answer):
        async def route(request: Request) -> Response:
            self.requests.append(request.url.path)
            if self.down:
                return Response("out of order", 500)
            token = request.headers.get("authorization", "").removeprefix("Bearer ")
            reads = request.method != "POST" or request.url.path.endswith("validate-yaml")
            if not reads and token != TOKEN:
                return refusal(401, "", "Invalid username or password.")
            parts = request.path_params
            if "owner" in parts:
                repo = self.repos.get(f"{parts['owner']}/{parts['name']}")
                if repo is None or (repo.private and token != TOKEN):
                    return refusal(401 if not token else 404, "RepoNotFound", "Repository not found")
                request.state.repo = repo
            if "revision" in parts:
                commit = repo.branches.get(parts["revision"], parts["revision"])
                if commit not in repo.commits:
                    return refusal(404, "RevisionNotFound", f"Invalid rev id: {parts['revision']}")
                request.state.files, request.state.sha = repo.commits[commit], commit
            return await answer(request)

        return route

    async def create(self, request):
        asked = await request.json()
        name = f"{asked['organization']}/{asked['name']}"
        if name in self.repos:
            return JSONResponse({"error": "You already created this model repo", "url": f"/{name}"}, 409)
        self.repos[name] = Repo(asked.get("visibility") == "private")
        return JSONResponse({"url": f"{request.base_url}{name}"})

    async def validate(self, request):
        asked = await request.json()
        errors = [{"message": error} for error in card_problems(asked["content"], asked["repoType"])]
        return JSONResponse({"errors": errors, "warnings": []}, 400 if errors else 200)

    async def branch(self, request):
        repo, name = request.state.repo, request.path_params["branch"]
        if name in repo.branches:
            return refusal(409, "", "Reference already exists")
        repo.branches[name] = repo.branches["main"]
        return Response(status_code=201)

    async def preupload(self, request):
        files = (await request.json())["files"]
        mode = lambda path: "lfs" if path.endswith(".safetensors") else "regular"  # noqa: E731
        found = [{"path": f["path"], "uploadMode": mode(f["path"]), "shouldIgnore": False} for f in files]
        return JSONResponse({"files": found})

    async def batch(self, request):
        objects = [
            {**one, "actions": {"upload": {"href": f"{request.base_url}large/{one['oid']}"}}}
            for one in (await request.json())["objects"]
        ]
        return JSONResponse({"transfer": "basic", "objects": objects})

    async def put(self, request):
        body = await request.body()
        assert hashlib.sha256(body).hexdigest() == request.path_params["oid"]
        self.large[request.path_params["oid"]] = body
        return Response()

    async def commit(self, request):
        files, repo = dict(request.state.files), request.state.repo
        for line in (await request.body()).splitlines():
            record = json.loads(line)
            value = record["value"]
            if record["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif record["key"] == "lfsFile":
                files[value["path"]] = self.large[value["oid"]]
            elif record["key"] == "deletedFile":
                del files[value["path"]]
        sha = commit_id(files)
        repo.commits[sha] = files
        repo.branches[request.path_params["revision"]] = sha
        url = f"{request.base_url}{request.path_params['owner']}/{request.path_params['name']}/commit/{sha}"
        return JSONResponse({"success": True, "commitOid": sha, "commitUrl": url})

    async def info(self, request):
        repo = request.state.repo
        sha = getattr(request.state, "sha", repo.branches["main"])
        found = [{"rfilename": name} for name in repo.commits[sha]]
        return JSONResponse({"id": "x/y", "sha": sha, "private": repo.private, "siblings": found})

    async def tree(self, request):
        found = []
        for path, content in request.state.files.items():
            one = {"type": "file", "path": path, "size": len(content), "oid": hashlib.sha1(content).hexdigest()}
            if path.endswith(".safetensors"):
                oid = hashlib.sha256(content).hexdigest()
                one["lfs"] = {"oid": oid, "size": len(content), "pointerSize": 134}
            found.append(one)
        return JSONResponse(found)

    async def resolve(self, request):
        content = request.state.files.get(request.path_params["path"])
        if content is None:
            return refusal(404, "EntryNotFound", "Entry not found")
        headers = {"X-Repo-Commit": request.state.sha, "ETag": f'"{hashlib.sha1(content).hexdigest()}"'}
        return Response(content, headers=headers, media_type="application/octet-stream")


@pytest.fixture(scope="session")
def hub_server():
    """A running double and its address."""
    hub = HubDouble()
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        # a client that a busy machine holds up finds its connection still open
        server = uvicorn.Server(uvicorn.Config(hub.app, log_level="error", timeout_keep_alive=600))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield hub, f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join(10)


@pytest.fixture
def hub(hub_server, monkeypatch, tmp_path):
    """An empty double that `huggingface_hub` takes for the Hub, with an empty cache and no stored token."""
    double, address = hub_server
    for part in (double.repos, double.large, double.requests):
        part.clear()
    double.down = False
    monkeypatch.setattr(constants, "ENDPOINT", address)
    template = address + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub-cache"))
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.delenv("HUGGING_FACE_HUB_TOKEN", raising=False)
    return double
