"""Packs on the Hugging Face hub: ``hf://datasets/OWNER/NAME[/FILE][@REVISION]``.

Needs the package `huggingface_hub`, which is imported when it is used. It downloads into its own cache, resumes, works offline
from there, and finds the token and the endpoint in ``HF_TOKEN`` and ``HF_ENDPOINT``. Name a commit as the revision for a web that
cannot change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from wildenv.errors import ConfigError, ProviderError
from wildenv.web.packs.folder import CARD, MANIFEST, PACK, Manifest, matching, pack_in

SCHEME = "hf://"
_REPO = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class HubAddress:
    """Where a pack is on the hub; without a file, the one that the manifest names."""

    repo: str
    file: str | None = None
    revision: str | None = None

    @classmethod
    def parse(cls, text: str) -> HubAddress:
        """Reads an address; the revision may also stand behind the name, as in the hub's own file system.

        Raises:
            ConfigError: If it is none.
        """
        found = re.fullmatch(r"hf://datasets/([^/@]+/[^/@]+)(?:@([^/]+))?(?:/([^@]+))?(?:@(.+))?", text)
        if found is None or not _REPO.fullmatch(found[1]) or (found[2] and found[4]):
            raise ConfigError(f"{text!r} is no address of a pack; write hf://datasets/OWNER/NAME[/FILE][@REVISION]")
        return cls(found[1], found[3], found[2] or found[4])


def pack_from(source: str | Path) -> Path:
    """Returns a pack as a local file; its list of entries is checked, and the entries are when they are read.

    Args:
        source: A pack, a folder made by `pack_to_folder`, or an address on the hub.

    Raises:
        ConfigError: If there is no such repository, revision or file, or `huggingface_hub` is not installed.
        PackError: If it is no pack, or not the one that its manifest states.
        ProviderError: If the hub cannot be reached.
    """
    if isinstance(source, str) and source.startswith(SCHEME):
        return _downloaded(source)
    path = Path(source)
    return pack_in(path) if path.is_dir() else matching(path, None)


def check_repo(repo: str) -> None:
    """Raises `ConfigError` unless a name is one of a dataset repository, owner included."""
    if not _REPO.fullmatch(repo):
        raise ConfigError(f"{repo!r} is no name of a dataset; write OWNER/NAME")


def push_folder(folder: str | Path, repo: str, private: bool = True, revision: str | None = None) -> str:
    """Uploads pack, card and manifest of a folder made by `pack_to_folder` into a dataset repository; made if it is missing.

    Args:
        folder: The folder; its pack must be the one its manifest states.
        repo: ``OWNER/NAME``.
        private: Whether a repository that is made now is private. Recorded pages belong to others: think before you publish.
        revision: Branch to upload to; the main one if None.

    Returns:
        The address of the commit.

    Raises:
        ConfigError: If `repo` is no name, may not be written, or `huggingface_hub` is not installed.
        PackError: If the folder is not complete.
        ProviderError: If the hub cannot be reached.
    """
    check_repo(repo)
    pack = pack_in(folder)
    hub = _hub()
    with _plain_errors(hub, f"hf://datasets/{repo}"):
        api = hub.HfApi()
        api.create_repo(repo, repo_type="dataset", private=private, exist_ok=True)
        commit = api.upload_folder(
            repo_id=repo,
            folder_path=Path(folder),
            repo_type="dataset",
            revision=revision,
            commit_message="Recorded web",
            # Whatever else lies in the folder is not meant for others.
            allow_patterns=[pack.name, MANIFEST, CARD],
        )
    return str(commit.commit_url)


def _downloaded(source: str) -> Path:
    address = HubAddress.parse(source)
    hub = _hub()

    def get(name: str) -> Path:
        return Path(hub.hf_hub_download(address.repo, name, repo_type="dataset", revision=address.revision))

    with _plain_errors(hub, source):
        try:
            manifest = Manifest.read(get(MANIFEST))
        except hub.errors.LocalEntryNotFoundError:
            raise
        except hub.errors.EntryNotFoundError:
            manifest = None
        pack = get(address.file or (PACK if manifest is None else manifest.pack))
    if manifest is not None and address.file not in (None, manifest.pack):
        manifest = None
    return matching(pack, manifest)


def _hub() -> ModuleType:
    try:
        import huggingface_hub.errors
        import huggingface_hub.utils.logging
    except ImportError as error:
        raise ConfigError("packs on the Hugging Face hub need huggingface_hub: pip install 'wildenv[web]'") from error
    return huggingface_hub


@contextmanager
def _plain_errors(hub: ModuleType, what: str) -> Iterator[None]:
    """Turns what the hub's client raises into our errors, in one sentence; it says nothing of its own meanwhile."""
    errors = hub.errors
    said = hub.utils.logging.get_verbosity()
    hub.utils.logging.set_verbosity_error()
    try:
        yield
    except errors.LocalEntryNotFoundError as error:
        raise ProviderError(
            f"{what} is not on this machine and the hub cannot be reached; check the network, HF_ENDPOINT and HF_HUB_OFFLINE"
        ) from error
    except errors.EntryNotFoundError as error:
        raise ConfigError(f"{what}: there is no such file; name the pack, as in hf://datasets/OWNER/NAME/FILE") from error
    except errors.RevisionNotFoundError as error:
        raise ConfigError(f"{what}: there is no such revision; name a branch, tag or commit after the @") from error
    except errors.RepositoryNotFoundError as error:
        raise ConfigError(f"{what}: there is no such dataset, or it may not be seen; log in with `hf auth login`") from error
    except ValueError as error:
        # A name that the hub does not allow, or a card whose head it cannot read.
        raise ConfigError(f"{what}: {' '.join(str(error).split())}") from error
    except errors.HfHubHTTPError as error:
        status = getattr(error.response, "status_code", None)
        if status in (401, 403):
            raise ConfigError(f"{what}: the hub refuses (HTTP {status}); log in with `hf auth login` or set HF_TOKEN") from error
        raise ProviderError(f"{what}: the hub failed (HTTP {status}); try again later", f"http {status}") from error
    except (errors.HTTPError, OSError) as error:
        raise ProviderError(
            f"{what}: the hub cannot be reached ({error}); check the network and HF_ENDPOINT", "connection"
        ) from error
    finally:
        hub.utils.logging.set_verbosity(said)
