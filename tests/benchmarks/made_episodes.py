"""Episodes made by hand, with pictures, for tests of what is reported on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf
from PIL import Image

from agents.runs import ROOT
from benchmarks.reporting.run import Run, read_runs
from wildenv.episode import Episode, EpisodeWriter
from wildenv.images import ImageStore

SCORED = {"search": 1.0}


def settings(**changes: Any) -> dict[str, Any]:
    """Returns ``conf/report.yaml`` as plain values, with changes."""
    values = OmegaConf.to_container(OmegaConf.load(ROOT / "conf" / "report.yaml"))
    assert isinstance(values, dict)
    return {**{str(key): value for key, value in values.items()}, **changes}


def picture(number: int, size: tuple[int, int] = (64, 48)) -> Image.Image:
    """Returns a picture that differs with the number."""
    return Image.new("RGB", size, (number * 37 % 256, number * 91 % 256, number * 151 % 256))


def digest(number: int) -> str:
    """Returns the digest of `picture`."""
    return ImageStore().put(picture(number))


class Maker:
    """Makes episodes and writes them into a folder.

    Args:
        folder: Where to.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = ImageStore()
        self._writer = EpisodeWriter(folder)

    def add(
        self,
        task: str,
        rewards: Mapping[str, float | None] = SCORED,
        *,
        seed: int = 0,
        domain: str = "Sports",
        shown: Sequence[int] = (1, 2, 3, 4, 5),
        crop: bool = False,
        end: str = "answered",
        prompt: str = "Draw the new kit.",
        answer: str = "A kit in teal.",
        title: str = "A kit",
        text: str = "[1] A kit",
        judge: str = "judge-1",
        usage: Mapping[str, float] | None = None,
        spent: Mapping[str, float] | None = None,
        drawn: int | None = None,
        truth: Sequence[int] = (),
        **more: Any,
    ) -> Episode:
        """Makes an episode of a text search, an image search, a crop if wanted, and an answer with the first picture shown.

        Args:
            task: Id of the task.
            rewards: Components; one that is None gives an unscored verdict and an invalid reward.
            seed: Of the episode.
            domain: Of the task.
            shown: Numbers of the pictures the image search shows; none leaves the search out.
            crop: Whether the answer hands on a crop of the first picture.
            end: End reason; there is an answer with ``answered`` and ``judge`` only.
            prompt: Of the task.
            answer: The refined prompt.
            title: Of the pictures.
            text: Of the text search's reply.
            judge: Who gave the verdict.
            usage: Of the verdict.
            spent: Further usage of the episode.
            drawn: Number of the generated picture.
            truth: Numbers of the ground-truth pictures.
            **more: Further fields of the episode.
        """
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": [_text("Find references.")]},
            {"role": "user", "content": [_text(prompt)]},
            _call("call_1_1", "text_search", {"queries": ["kit"]}, "Locate."),
            _reply("call_1_1", "text_search", [_text(text)]),
        ]
        images: list[dict[str, Any]] = []
        for number in shown:
            name = self.store.put(picture(number))
            images.append(_image(len(images) + 1, name, f"https://kit.example/{number}.png", title))
        steps = [_step("call_1_1", "text_search")]
        if images:
            blocks = [block for row in images for block in (_text(f"{row['id']}: {title}"), _shown(row))]
            messages += [
                _call("call_2_1", "image_search", {"query": "kit"}),
                _reply("call_2_1", "image_search", blocks),
            ]
            steps.append(_step("call_2_1", "image_search"))
        answered = end in ("answered", "judge")
        references = [images[0]["id"]] if images and answered else []
        if crop:
            part = self.store.get(images[0]["source"]).crop((0, 0, 32, 24))
            cut = {**_image(len(images) + 1, self.store.put(part), images[0]["url"], title), "size": [32, 24]}
            images.append({**cut, "parent": "IMG_001", "box": [0, 0, 500, 500]})
            messages += [
                _call("call_3_1", "crop_image", {"image_id": "IMG_001", "box": [0, 0, 500, 500]}),
                _reply("call_3_1", "crop_image", [_text(f"{cut['id']} = IMG_001"), _shown(cut)]),
            ]
            steps.append(_step("call_3_1", "crop_image"))
            references = [cut["id"]]
        if answered:
            messages.append(_call("call_9_1", "answer", {"prompt": answer, "references": references}))
        ran_out = end in ("budget", "turns", "context")
        if ran_out:
            rewards = dict.fromkeys(rewards, 0.0)
        valid = ran_out or (answered and all(value is not None for value in rewards.values()))
        evidence = {"ground_truth": [self.store.put(picture(number)) for number in truth]} if truth else {}
        verdicts = [
            {
                "judge": judge,
                "value": value,
                "reason": f"{name} looked at",
                "evidence": evidence,
                "usage": dict(usage or {}),
                "parts": {},
            }
            for name, value in rewards.items()
        ]
        fields: dict[str, Any] = {
            "task": {"id": task, "prompt": prompt, "issued": "2026-07-01", "domain": domain, "subcategory": "Kits", "meta": {}},
            "web": "w" * 64,
            "seed": seed,
            "policy": "maker",
            "tools": [],
            "messages": messages,
            "images": images,
            "steps": steps,
            "decisions": [
                _decision("call_1_1", True, "2026-07-01"),
                _decision("call_1_1", True, None),
                _decision("call_1_1", False, "2026-08-01"),
            ],
            "answer": {"prompt": answer, "references": references} if answered else None,
            "verdicts": verdicts if answered else [],
            "rewards": dict(rewards) if answered or ran_out else {},
            "drawn": None if drawn is None else {"digest": self.store.put(picture(drawn)), "generator": "painter-1", "seed": 0},
            "reward": next(iter(rewards.values())) if valid and rewards else 0.0,
            "reward_valid": valid,
            "end_reason": end,
            "failure": None if ran_out or end == "answered" else f"{end} failed",
            "usage": {"tool_calls": len(steps), "turns": len(steps) + 1, **(spent or {})},
            "timings": [0.25] * len(steps),
        }
        episode = Episode(**{**fields, **more})
        self._writer.append(episode, self.store)
        return episode

    def run(self, **changes: Any) -> Run:
        """Reads what was written, as a report does."""
        return read_runs([self.folder], settings(**changes), progress=False)[0]


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _shown(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "image", "id": row["id"], "digest": row["digest"]}


def _call(call: str, name: str, arguments: Mapping[str, Any], said: str = "") -> dict[str, Any]:
    function = {"name": name, "arguments": dict(arguments)}
    content = [_text(said)] if said else []
    return {"role": "assistant", "content": content, "tool_calls": [{"id": call, "type": "function", "function": function}]}


def _reply(call: str, name: str, blocks: list[dict[str, Any]]) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call, "name": name, "content": blocks}


def _step(call: str, name: str) -> dict[str, Any]:
    return {"call": call, "name": name, "ok": True, "error": "", "notes": []}


def _decision(call: str, kept: bool, published: str | None) -> dict[str, Any]:
    return {"call": call, "url": "https://kit.example/page", "published": published, "kept": kept, "reason": f"kept={kept}"}


def _image(number: int, name: str, url: str, title: str) -> dict[str, Any]:
    return {
        "id": f"IMG_{number:03d}",
        "digest": name,
        "source": name,
        "size": [64, 48],
        "parent": None,
        "box": None,
        "url": url,
        "page": "https://kit.example/page",
        "title": title,
    }
