"""Training rows as a Hugging Face dataset, with a card, and back.

Columns: ``id``, ``task_id``, ``web``, ``reward``, ``schema_version``, ``messages`` and ``tools`` (feature type `Json`, because
Arrow would pad every tool schema with the keys of all others), and ``images``: one entry a picture, in the order of the
placeholders in ``messages``. In a dataset a picture block names no digest, it is the next of ``images``. Nothing is uploaded
here.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets
from datasets import Dataset, Features, Image, Json, List, Value, load_dataset, load_from_disk

from trainers.data import SCHEMA_VERSION, Row, Rows
from wildenv.errors import ConfigError, DataError
from wildenv.images import ImageStore, decode, digest_of
from wildenv.messages import digests_of

FEATURES = Features(
    {
        "id": Value("string"),
        "task_id": Value("string"),
        "web": Value("string"),
        "reward": Value("float64"),
        "schema_version": Value("int32"),
        "messages": List(Json()),
        "tools": List(Json()),
        "images": List(Image()),
    }
)


def write_dataset(rows: Rows, folder: str | Path, name: str, source: Mapping[str, Any]) -> Path:
    """Writes a dataset folder with a card, one row in memory at a time.

    Args:
        rows: What to write.
        folder: The dataset folder; must not hold one yet.
        name: Title of the card.
        source: How the rows came about; printed in the card.

    Raises:
        ConfigError: If the folder is not empty.
    """
    target = Path(folder)
    if target.exists() and any(target.iterdir()):
        raise ConfigError(f"{folder} is not empty; name another folder for the dataset")
    scratch = target.with_name(f".{target.name}.arrow")
    dataset = Dataset.from_generator(
        _export, gen_kwargs={"rows": rows}, features=FEATURES, cache_dir=str(scratch), keep_in_memory=False
    )
    dataset.save_to_disk(target)
    (target / "README.md").write_text(_card(name, dataset, source), encoding="utf-8")
    for file in sorted(scratch.rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()
    scratch.rmdir()
    return target


class HubRows:
    """A dataset folder, or a dataset on the hub, as training rows.

    Args:
        path: The folder that `write_dataset` wrote, or an id.
        split: For a dataset on the hub.

    Raises:
        ConfigError: If there is no such dataset or its columns are not ours.
    """

    def __init__(self, path: str | Path, split: str = "train") -> None:
        try:
            dataset = load_from_disk(path) if Path(path).is_dir() else load_dataset(str(path), split=split)
        except (OSError, ValueError, datasets.exceptions.DatasetNotFoundError) as error:
            raise ConfigError(f"data.path={path}: no dataset can be opened there ({error})") from error
        missing = sorted(set(FEATURES) - set(dataset.column_names or []))
        if missing:
            raise ConfigError(f"data.path={path}: the dataset lacks the columns {missing}")
        self._dataset = dataset.cast_column("images", List(Image(decode=False)))
        self.images = _DatasetImages()

    def __len__(self) -> int:
        return len(self._dataset)

    def __getitem__(self, index: int) -> Row:
        record = self._dataset[index]
        pngs = [_png(image) for image in record.pop("images")]
        digests = iter([self.images.put_png(png) for png in pngs])
        for message in record["messages"]:
            for block in message["content"]:
                if block["type"] == "image":
                    digest = next(digests, None)
                    if digest is None:
                        raise DataError(
                            f"row {index + 1} of the dataset shows more pictures than the {len(pngs)} of its 'images'"
                        )
                    block["digest"] = digest
        if next(digests, None) is not None:
            raise DataError(f"row {index + 1} of the dataset has more 'images' than its messages show")
        return Row.from_dict(record)

    def task_ids(self) -> Sequence[str]:
        """Returns the task id of every row, in order."""
        return list(self._dataset["task_id"])


class _DatasetImages(ImageStore):
    """Keeps the pictures of the rows read last, so that a long run does not hold all of them."""

    kept = 512

    def __init__(self) -> None:
        super().__init__()
        self._latest: dict[str, bytes] = {}

    def put_png(self, png: bytes) -> str:
        digest = digest_of(png)
        # The newest come last, also when they were there already.
        self._latest.pop(digest, None)
        self._latest[digest] = png
        while len(self._latest) > self.kept:
            del self._latest[next(iter(self._latest))]
        return digest

    def png(self, digest: str) -> bytes:
        try:
            return self._latest[digest]
        except KeyError:
            raise DataError(f"picture {digest[:12]} is not among the last {self.kept} that were read") from None

    def __contains__(self, digest: str) -> bool:
        return digest in self._latest


def _export(rows: Rows) -> Iterator[dict[str, Any]]:
    for index in range(len(rows)):
        row = rows[index]
        record = row.to_dict()
        record["images"] = [{"path": None, "bytes": rows.images.png(digest)} for digest in digests_of(row.messages)]
        record["messages"] = [
            {
                **message,
                "content": [{key: value for key, value in block.items() if key != "digest"} for block in message["content"]],
            }
            for message in row.messages
        ]
        yield record


def _png(image: Mapping[str, Any]) -> bytes:
    data = image["bytes"]
    if data is None:
        data = Path(image["path"]).read_bytes()
    if data.startswith(b"\x89PNG"):
        return data
    buffer = io.BytesIO()
    decode(data).save(buffer, format="PNG")
    return buffer.getvalue()


def _card(name: str, dataset: Dataset, source: Mapping[str, Any]) -> str:
    facts = "\n".join(f"* {key}: {value}" for key, value in source.items())
    return f"""---
pretty_name: {name}
task_categories: [image-text-to-text]
tags: [agents, tool-use, web-search, sft]
---

# {name}

{len(dataset)} tool-using conversations of an agent that looks for reference pictures, schema version {SCHEMA_VERSION}.

{facts}

## Columns

| column | what it holds |
|---|---|
| `id`, `task_id` | the trajectory, and the task it solves; split by task |
| `web` | digest of the recorded web it was played in |
| `reward` | what the episode earned; null if unknown |
| `schema_version` | of the row format |
| `messages` | the chat; tool calls carry their arguments as objects; an image block stands for the next entry of `images` |
| `tools` | JSON schemas of the tools |
| `images` | the pictures, in the order of their placeholders |

`trainers.hub.HubRows` reads it; `python -m trainers.sft data=hf data.path=FOLDER` trains on it.
"""
