"""The images API of OpenAI and of servers that speak it: without references it generates, with references it edits.

The API has no seed; one is sent only to servers that are said to know it. Keep pictures in a store to see the same ones again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from PIL import Image

from wildenv.errors import ConfigError
from wildenv.generators.remote import RemoteGenerator
from wildenv.images import encode
from wildenv.secrets import secret_from_env
from wildenv.web.net.manners import Rules

_SIZE = re.compile(r"(\d+)x(\d+)")


class OpenAIImages(RemoteGenerator):
    """Implements `Generator` through the ``openai`` package.

    Args:
        model: Such as ``gpt-image-1``.
        base_url: Such as ``https://api.openai.com/v1``.
        api_key_env: Name of the environment variable with the key; None for an endpoint without one.
        size: Such as ``1024x1024``, checked against what comes back; ``auto`` leaves it to the model, None does not send it.
        quality: Such as ``high``; None does not send it.
        response_format: ``b64_json`` for servers that send addresses otherwise; None does not send it.
        sends_seed: Whether the server understands a field ``seed``.
        max_references: References it takes.
        rules: How many requests at once and how patient to be.
        timeout_s: Seconds for one picture.

    Raises:
        ConfigError: If a value is not valid.
    """

    needs_references = False

    def __init__(
        self,
        model: str,
        base_url: str,
        api_key_env: str | None = None,
        size: str | None = "1024x1024",
        quality: str | None = None,
        response_format: str | None = None,
        sends_seed: bool = False,
        max_references: int = 16,
        rules: Rules | None = None,
        timeout_s: float = 300.0,
    ) -> None:
        if not model:
            raise ConfigError("generator.model is not set; give the name that the endpoint serves")
        if not base_url.startswith(("http://", "https://")):
            raise ConfigError(f"generator.base_url={base_url!r} is not an address such as https://api.openai.com/v1")
        measured = _SIZE.fullmatch(size) if size else None
        if size not in (None, "auto") and measured is None:
            raise ConfigError(f"generator.size={size!r} is neither auto nor of the form 1024x1024")
        pixels = (int(measured[1]), int(measured[2])) if measured else None
        sent = {"size": size, "quality": quality, "response_format": response_format}
        self._fields: Mapping[str, Any] = {name: value for name, value in sent.items() if value is not None}
        told = "".join(f",{value}" for name, value in self._fields.items() if name != "response_format")
        super().__init__(f"openai:{model}{told}", rules, timeout_s, pixels, max_references)
        self.model = model
        self.base_url = base_url
        self._api_key_env = api_key_env
        self._sends_seed = sends_seed

    async def ask(self, prompt: str, references: Sequence[Image.Image], seed: int) -> str:
        """Asks for one picture."""
        try:
            from openai import APIConnectionError, APIError, APIStatusError, APITimeoutError, AsyncOpenAI, DefaultAsyncHttpxClient
        except ImportError as error:
            raise ConfigError("generator.kind=openai needs the package openai; run pip install 'wildenv[chat]'") from error
        name = self._api_key_env
        key = "none" if name is None else secret_from_env(name, "generator.api_key_env").reveal()
        body: dict[str, Any] = {"model": self.model, "prompt": prompt, "n": 1, **self._fields}
        if self._sends_seed:
            body["extra_body"] = {"seed": seed}
        # Redirects are not followed: they could carry the references elsewhere.
        line = DefaultAsyncHttpxClient(follow_redirects=False)
        async with AsyncOpenAI(
            base_url=self.base_url, api_key=key, max_retries=0, timeout=self.timeout_s, http_client=line
        ) as client:
            # The package would send these of the environment to any endpoint.
            client.organization = client.project = None
            try:
                if references:
                    files = [(f"reference_{n}.png", encode(one), "image/png") for n, one in enumerate(references, 1)]
                    reply = await client.images.edit(image=files if len(files) > 1 else files[0], **body)
                else:
                    reply = await client.images.generate(**body)
            except APITimeoutError:
                raise TimeoutError from None
            except APIConnectionError as error:
                self.unreachable(error)
            except APIStatusError as error:
                # Without its cause: the package's exception holds what the endpoint said, which may be the key.
                self.refused(error.status_code, error.response.headers.get("retry-after"), _said(error.body, error.response.text))
            except (APIError, ValueError, RecursionError) as error:
                self.unusable(f"sent what is no answer of the images API: {error}")
        # The package does not check that the answer is of the types it says.
        drawn = getattr(reply, "data", None)
        first = drawn[0] if isinstance(drawn, list) and drawn else None
        picture = getattr(first, "b64_json", None)
        if not isinstance(picture, str) or not picture:
            address = bool(getattr(first, "url", None))
            self.unusable(
                "sent an address instead of a picture; set generator.response_format=b64_json" if address else "sent no picture"
            )
        return picture


def _said(body: object, text: str) -> str:
    return str(body["message"]) if isinstance(body, Mapping) and body.get("message") else text
