"""Gen-Searcher's drawing service: ``POST /generate`` of a server around Qwen-Image-Edit; GenEvolve's speaks the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import httpx
from PIL import Image

from wildenv.errors import ConfigError, GeneratorError
from wildenv.generators.remote import RemoteGenerator
from wildenv.images import encode
from wildenv.messages import data_url
from wildenv.strict_json import loads
from wildenv.web.net.manners import Rules


class QwenEdit(RemoteGenerator):
    """Implements `Generator` over HTTP. It edits: an answer without references is an error.

    Args:
        base_url: Of the server, such as ``http://127.0.0.1:8001``.
        name: Of the model behind it, for the id; the address is not part of it.
        true_cfg_scale: Guidance by the negative prompt (Gen-Searcher: 4).
        negative_prompt: A single space is none.
        num_inference_steps: Steps (Gen-Searcher: 40).
        guidance_scale: Guidance that was distilled into the model (Gen-Searcher: 1).
        max_references: References the server takes. Gen-Searcher's drops all after the third; here more are an error.
        width: In pixels, with `height`; sent and checked. None leaves the size to the server; Gen-Searcher's reads neither.
        height: As `width`.
        rules: How many requests at once and how patient to be.
        timeout_s: Seconds for one picture.

    Raises:
        ConfigError: If a value is not valid.
    """

    needs_references = True

    def __init__(
        self,
        base_url: str,
        name: str = "2509",
        true_cfg_scale: float = 4.0,
        negative_prompt: str = " ",
        num_inference_steps: int = 40,
        guidance_scale: float = 1.0,
        max_references: int = 3,
        width: int | None = None,
        height: int | None = None,
        rules: Rules | None = None,
        timeout_s: float = 1_800.0,
    ) -> None:
        if not base_url.startswith(("http://", "https://")):
            raise ConfigError(f"generator.base_url={base_url!r} is not an address such as http://127.0.0.1:8001")
        if (width is None) != (height is None):
            raise ConfigError(f"generator.width={width} and generator.height={height} go together")
        if num_inference_steps < 1:
            raise ConfigError(f"generator.num_inference_steps={num_inference_steps} must be at least 1")
        size = None if width is None or height is None else (width, height)
        self._fields: dict[str, Any] = {
            "true_cfg_scale": true_cfg_scale,
            "negative_prompt": negative_prompt,
            "num_inference_steps": num_inference_steps,
            "guidance_scale": guidance_scale,
            "num_images_per_prompt": 1,
        }
        if size is not None:
            self._fields |= {"width": size[0], "height": size[1]}
        drawn = f"cfg{true_cfg_scale:g},steps{num_inference_steps},g{guidance_scale:g}"
        drawn += f",not{negative_prompt!r}" if negative_prompt.strip() else ""
        drawn += f",{size[0]}x{size[1]}" if size else ""
        super().__init__(f"qwen-edit:{name},{drawn}", rules, timeout_s, size, max_references)
        self.url = f"{base_url.rstrip('/')}/generate"

    async def ask(self, prompt: str, references: Sequence[Image.Image], seed: int) -> str:
        """Asks for one picture."""
        if not references:
            raise GeneratorError(f"generator {self.id} draws from references, and the answer has none")
        urls = [data_url(encode(reference), "image/png") for reference in references]
        # Waiting is bounded from outside; the seconds here only stop a silent connection.
        async with httpx.AsyncClient(timeout=self.timeout_s, trust_env=False) as client:
            try:
                reply = await client.post(self.url, json={"image_urls": urls, "prompt": prompt, "seed": seed, **self._fields})
            except httpx.TimeoutException:
                raise TimeoutError from None
            except httpx.HTTPError as error:
                self.unreachable(error)
        if reply.status_code != 200:
            self.refused(reply.status_code, reply.headers.get("retry-after"), reply.text)
        try:
            row = loads(reply.content)
        except ValueError:
            self.unusable("sent what is no JSON")
        if not isinstance(row, dict) or row.get("success") is not True:
            said = row.get("error") or row.get("message") or row.get("detail") if isinstance(row, dict) else row
            self.unusable(f"says that it drew nothing: {said}")
        if not isinstance(row.get("image"), str) or not row["image"]:
            self.unusable("says that it drew, and sent no picture")
        return str(row["image"])
