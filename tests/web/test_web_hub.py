"""Folders for sharing, and the hub: a small server stands for it, and the real client talks to it in a process of its own."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from wildenv.errors import ConfigError, PackError, ProviderError
from wildenv.web.client import WebClient
from wildenv.web.packs.folder import CARD, MANIFEST, PACK, Manifest, pack_to_folder
from wildenv.web.packs.hub import HubAddress, pack_from, push_folder
from wildenv.web.packs.pack import export_pack, open_pack, pack_digest
from wildenv.web.request import WebRequest
from wildenv.web.store import Store

CUTOFF = date(2026, 7, 4)


@pytest.fixture
def pack(tmp_path: Path, make_provider: Callable[..., Any], make_picture: Callable[..., bytes]) -> Path:
    provider = make_provider()
    provider.pictures["https://a.example/x.png"] = make_picture()
    with Store(tmp_path / "s.db") as store:
        client = WebClient(provider, "record", store)
        client.text_search("lantern", 2, CUTOFF)
        client.fetch_image("https://a.example/x.png")
        export_pack(store, tmp_path / "lanterns.pack")
    return tmp_path / "lanterns.pack"


class FakeHub(ThreadingHTTPServer):
    """Keeps the files of dataset repositories in memory, as far as uploads and downloads need it."""

    daemon_threads = True
    head = "a" * 40

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Hub)
        self.repos: dict[str, dict[str, bytes]] = {}
        self.private: dict[str, bool] = {}
        self.broken = False
        self.seen: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Hub(BaseHTTPRequestHandler):
    server: FakeHub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def reply(self, status: int, body: bytes = b"{}", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        self.server.seen.append(f"{self.command} {self.path}")
        parts = self.path.split("?")[0].strip("/").split("/")
        if self.server.broken:
            return self.reply(503)
        if parts[:2] == ["api", "datasets"]:
            repo = "/".join(parts[2:4])
            info = {"id": repo, "sha": self.server.head, "private": False, "siblings": [], "tags": []}
            return self.reply(200, json.dumps(info).encode()) if repo in self.server.repos else self.missing("RepoNotFound")
        repo, revision, name = "/".join(parts[1:3]), parts[4], "/".join(parts[5:])
        if repo not in self.server.repos:
            return self.missing("RepoNotFound")
        if revision not in ("main", "v1", self.server.head):
            return self.missing("RevisionNotFound")
        if name not in self.server.repos[repo]:
            return self.missing("EntryNotFound")
        data = self.server.repos[repo][name]
        etag = f'"{hashlib.sha1(data).hexdigest()}"'
        return self.reply(200, data, ETag=etag, X_Repo_Commit=self.server.head)

    def missing(self, code: str) -> None:
        self.reply(404, X_Error_Code=code, X_Repo_Commit=self.server.head)

    def do_POST(self) -> None:
        self.server.seen.append(f"{self.command} {self.path}")
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Authorization") != "Bearer hf_test":
            return self.reply(401)
        if self.path == "/api/repos/create":
            asked = json.loads(body)
            repo = f"{asked['organization']}/{asked['name']}"
            self.server.repos[repo] = {}
            self.server.private[repo] = asked.get("private", asked.get("visibility") == "private")
            return self.reply(200, json.dumps({"url": f"{self.server.url}/datasets/{repo}"}).encode())
        if self.path == "/api/validate-yaml":
            wrong = [] if "license: other" in json.loads(body)["content"] else [{"message": '"license" is required'}]
            return self.reply(400 if wrong else 200, json.dumps({"errors": wrong, "warnings": []}).encode())
        repo = "/".join(self.path.split("/")[3:5])
        if "/preupload/" in self.path:
            files = [{"path": one["path"], "uploadMode": "regular", "shouldIgnore": False} for one in json.loads(body)["files"]]
            return self.reply(200, json.dumps({"files": files}).encode())
        for line in body.splitlines():
            row = json.loads(line)
            if row["key"] == "file":
                self.server.repos[repo][row["value"]["path"]] = base64.b64decode(row["value"]["content"])
        done = {"commitUrl": f"{self.server.url}/datasets/{repo}/commit/{self.server.head}", "commitOid": self.server.head}
        return self.reply(200, json.dumps(done).encode())


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    server = FakeHub()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def with_hub(hub: FakeHub, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs Python with the client pointed at the server."""

    def run(script: str, *arguments: object, token: str = "hf_test") -> subprocess.CompletedProcess[str]:
        setting = {"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "hf"), "HF_TOKEN": token, "HF_HUB_DISABLE_XET": "1"}
        return subprocess.run(
            [sys.executable, "-c", script, *map(str, arguments)],
            cwd=Path(__file__).parents[2],
            env={
                **os.environ,
                **setting,
                "HF_HUB_DISABLE_PROGRESS_BARS": "1",
                "HF_HUB_DISABLE_TELEMETRY": "1",
                "HF_HUB_OFFLINE": "0",
            },
            capture_output=True,
            text=True,
            timeout=60,
        )

    return run


def test_a_folder_holds_the_pack_a_card_and_a_manifest(pack: Path, tmp_path: Path) -> None:
    folder = pack_to_folder(pack, tmp_path / "shared", "Lanterns: a web", "me/lanterns")
    assert sorted(path.name for path in folder.iterdir()) == [CARD, MANIFEST, PACK]
    assert pack_from(folder) == folder / PACK
    assert pack_digest(folder / PACK) == pack_digest(pack)
    manifest = json.loads((folder / MANIFEST).read_text())
    assert (manifest["digest"], manifest["entries"]) == (pack_digest(pack), {"fetch_image": 1, "text_search": 1})
    card = (folder / CARD).read_text()
    front = card.split("---")[1]
    assert '\npretty_name: "Lanterns: a web"\nlicense: other\n' in front
    assert "$" not in card
    for said in (
        "# Lanterns: a web",
        "hf://datasets/me/lanterns",
        "2 answers, 0 requests",
        "| fake 1 | 2 |",
        "belong to their owners",
    ):
        assert said in card
    assert pack_digest(pack) in card


def test_the_front_matter_is_what_the_hub_reads(pack: Path, tmp_path: Path) -> None:
    huggingface_hub = pytest.importorskip("huggingface_hub")
    folder = pack_to_folder(pack, tmp_path / "shared", 'A "title": with signs')
    data = huggingface_hub.DatasetCard.load(folder / CARD).data.to_dict()
    assert data["pretty_name"] == 'A "title": with signs'
    assert (data["license"], data["viewer"], data["size_categories"]) == ("other", False, ["n<1K"])


def test_a_folder_is_made_again_and_keeps_a_card_that_was_edited(pack: Path, tmp_path: Path) -> None:
    folder = pack_to_folder(pack, tmp_path / "shared")
    (folder / CARD).write_text("by hand")
    with Store(tmp_path / "s.db") as store:
        store.note_gap("fetch_page", *gap())
        digest = export_pack(store, pack)
    pack_to_folder(pack, folder)
    pack_to_folder(folder / PACK, folder)
    assert (folder / CARD).read_text() == "by hand"
    assert pack_digest(pack_from(folder)) == digest
    assert json.loads((folder / MANIFEST).read_text())["gaps"] == {"fetch_page": 1}


def gap() -> tuple[str, dict[str, Any]]:
    request = WebRequest("fetch_page", "fake", "1", {"url": "https://a.example/down"})
    return request.key, request.to_dict()


def test_what_does_not_belong_together_is_refused(pack: Path, tmp_path: Path) -> None:
    folder = pack_to_folder(pack, tmp_path / "shared")
    with Store.memory() as store:
        store.note_gap("fetch_page", *gap())
        export_pack(store, folder / PACK)
    with pytest.raises(PackError, match=r"has the content digest \w{12}, expected was \w{12}"):
        pack_from(folder)
    for manifest, says in [
        (
            '{"format": 9, "pack": "web.pack", "digest": "", "entries": {}, "gaps": {}, "size": 1}',
            "format 9, this release reads 1",
        ),
        ('{"format": 1, "pack": "../web.pack", "digest": "", "entries": {}, "gaps": {}, "size": 1}', "no plain file name"),
        ('{"format": 1}', "no manifest of a pack"),
        ("nonsense", "no manifest of a pack"),
        ("[]", "no manifest of a pack"),
    ]:
        (folder / MANIFEST).write_text(manifest)
        with pytest.raises(PackError, match=says):
            pack_from(folder)
    (folder / MANIFEST).unlink()
    with pytest.raises(PackError, match=r"has no manifest\.json"):
        pack_from(folder)
    with pytest.raises(PackError, match="there is no pack"):
        pack_from(tmp_path / "nothing.pack")
    with pytest.raises(PackError, match="export_pack"):
        pack_from(tmp_path / "s.db")
    shutil.copy(pack, tmp_path / "plain.pack")
    assert pack_from(str(tmp_path / "plain.pack")) == tmp_path / "plain.pack"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("hf://datasets/a/b", HubAddress("a/b")),
        ("hf://datasets/a/b@v1", HubAddress("a/b", revision="v1")),
        ("hf://datasets/a/b/x.pack", HubAddress("a/b", "x.pack")),
        ("hf://datasets/a/b/sub/x.pack@refs/pr/1", HubAddress("a/b", "sub/x.pack", "refs/pr/1")),
        ("hf://datasets/a-1/b.c_d@v1/x.pack", HubAddress("a-1/b.c_d", "x.pack", "v1")),
    ],
)
def test_addresses(text: str, found: HubAddress) -> None:
    assert HubAddress.parse(text) == found


@pytest.mark.parametrize(
    "text", ["hf://a/b", "hf://datasets/a", "hf://datasets/a/b@x/y@z", "hf://datasets/a b/c", "hf://spaces/a/b"]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="write hf://datasets/OWNER/NAME"):
        pack_from(text)


PUSH = """
import sys
from wildenv.web.packs.hub import push_folder
print(push_folder(sys.argv[1], sys.argv[2], sys.argv[3] == 'private'))
"""
PULL = "import sys; from wildenv.web.packs.hub import pack_from; print(pack_from(sys.argv[1]))"


@pytest.mark.loopback
def test_pushed_and_pulled_by_the_real_client(
    pack: Path, tmp_path: Path, hub: FakeHub, with_hub: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    pytest.importorskip("huggingface_hub")
    folder = pack_to_folder(pack, tmp_path / "shared")
    (folder / ".hidden").write_text("stays here")
    (folder / "notes.txt").write_text("stays here, too")
    pushed = with_hub(PUSH, folder, "me/lanterns", "private")
    assert pushed.stdout.strip() == f"{hub.url}/datasets/me/lanterns/commit/{hub.head}", pushed.stderr
    assert hub.private == {"me/lanterns": True}
    assert set(hub.repos["me/lanterns"]) - {".gitattributes"} == {CARD, MANIFEST, PACK}
    assert hub.repos["me/lanterns"][PACK] == pack.read_bytes()

    pulled = with_hub(PULL, "hf://datasets/me/lanterns@v1")
    local = Path(pulled.stdout.strip())
    assert local.is_relative_to(tmp_path / "hf"), pulled.stderr
    with open_pack(local) as found:
        assert WebClient(mode="replay", store=found).text_search("lantern", 2, CUTOFF).cached
    assert with_hub(PULL, "hf://datasets/me/lanterns/web.pack").returncode == 0

    (folder / CARD).write_text("no front matter")
    refused = with_hub(PUSH, folder, "me/lanterns", "private")
    assert 'ConfigError: hf://datasets/me/lanterns: Invalid metadata in README.md. - "license" is required' in refused.stderr


@pytest.mark.loopback
def test_what_the_hub_refuses_is_said_in_one_sentence(
    pack: Path, tmp_path: Path, hub: FakeHub, with_hub: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    pytest.importorskip("huggingface_hub")
    hub.repos["me/other"] = {MANIFEST: (pack_to_folder(pack, tmp_path / "shared") / MANIFEST).read_bytes()}
    with Store.memory() as store:
        store.note_gap("fetch_page", *gap())
        export_pack(store, tmp_path / "other.pack")
    hub.repos["me/other"][PACK] = (tmp_path / "other.pack").read_bytes()
    script = """
import sys
from wildenv.errors import WildenvError
from wildenv.web.packs.hub import pack_from, push_folder
for source in sys.argv[2:]:
    try:
        print(pack_from(source))
    except WildenvError as error:
        print(type(error).__name__, error)
try:
    push_folder(sys.argv[1], "me/new")
except WildenvError as error:
    print(type(error).__name__, error)
"""
    sources = ["me/nothing", "me/other@no", "me/other/no.pack", "me/other"]
    done = with_hub(script, tmp_path / "shared", *(f"hf://datasets/{one}" for one in sources), token="hf_wrong")
    said = done.stdout.splitlines()
    assert len(said) == 5, done.stderr
    assert said[0].startswith("ConfigError hf://datasets/me/nothing: there is no such dataset, or it may not be seen; log in")
    assert said[1].startswith("ConfigError hf://datasets/me/other@no: there is no such revision")
    assert said[2].startswith("ConfigError hf://datasets/me/other/no.pack: there is no such file; name the pack")
    assert said[3].startswith("PackError")
    assert "expected was" in said[3]
    assert said[4].startswith("ConfigError hf://datasets/me/new: the hub refuses (HTTP 401); log in")
    assert "hf_wrong" not in done.stdout + done.stderr


def test_no_network_is_a_failure_of_the_service(pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sockets are blocked in every test."""
    huggingface_hub = pytest.importorskip("huggingface_hub")
    errors = pytest.importorskip("huggingface_hub.errors")

    def unreachable(*_: object, **__: object) -> str:
        raise errors.LocalEntryNotFoundError("no network")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", unreachable)
    with pytest.raises(ProviderError, match="the hub cannot be reached; check the network, HF_ENDPOINT and HF_HUB_OFFLINE"):
        pack_from("hf://datasets/me/lanterns")


def test_a_missing_client_names_what_to_install(pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    folder = pack_to_folder(pack, tmp_path / "shared")
    for call in (lambda: pack_from("hf://datasets/me/lanterns"), lambda: push_folder(folder, "me/lanterns")):
        with pytest.raises(ConfigError, match=r"pip install 'wildenv\[web\]'"):
            call()
    with pytest.raises(ConfigError, match="write OWNER/NAME"):
        push_folder(folder, "lanterns")


def test_a_manifest_that_is_nested_too_deeply_is_damaged(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text("[" * 100_000)
    with pytest.raises(PackError, match=r"is no manifest of a pack.*nested too deeply"):
        Manifest.read(tmp_path / MANIFEST)


def test_a_folder_that_is_not_ours_is_left_alone(pack: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / MANIFEST).write_text('{"name": "an extension"}')
    with pytest.raises(ConfigError, match=r"manifest\.json is there and is no manifest of a pack"):
        pack_to_folder(pack, other)
    (other / MANIFEST).unlink()
    (other / PACK).write_text("not a pack")
    with pytest.raises(ConfigError, match=r"web\.pack is there and is no pack"):
        pack_to_folder(pack, other)
    with Store(tmp_path / "s.db") as store:
        export_pack(store, tmp_path / "one.pack")
    (other / PACK).write_bytes((tmp_path / "one.pack").read_bytes())
    with pytest.raises(ConfigError, match="was not made for sharing"):
        pack_to_folder(pack, other)
    assert [path.name for path in other.iterdir()] == [PACK]


@pytest.mark.loopback
def test_a_hub_that_cannot_be_reached_is_one_sentence(pack: Path, tmp_path: Path) -> None:
    """Its client would print its own attempts."""
    pytest.importorskip("huggingface_hub")
    setting = {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(tmp_path / "hf"), "HF_TOKEN": "hf_test"}
    environment = {**os.environ, **setting, "PYTHONPATH": str(Path(__file__).parents[2])}
    script = "import sys, time; time.sleep = lambda _: None\nfrom wildenv.cli.main import main\nsys.exit(main(sys.argv[1:]))"
    for arguments in (["pull", "hf://datasets/me/lanterns", "--out", "x.pack"], ["push", str(pack), "me/lanterns"]):
        command = [sys.executable, "-c", script, "pack", *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
        assert "cannot be reached" in done.stderr
