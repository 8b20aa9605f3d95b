"""Lets a chat model answer a prompt from a web page (`wildenv.web.client.Reader`).

The page is given as data between marker lines that it cannot contain, with the advice to obey nothing in it; a model may still be
persuaded, so what it says is treated like web text. Control tokens of tokenizers are taken out before, by whoever calls
(`wildenv.tools.web_fetch`). A long page is read by the passages that share most with the prompt.
"""

from __future__ import annotations

from wildenv.errors import ConfigError, Unavailable
from wildenv.messages import text_block
from wildenv.models.chat import ChatModel
from wildenv.models.reply import ReplyError
from wildenv.models.wording import wording
from wildenv.web.net.spending import Spending
from wildenv.web.passages import best_passages
from wildenv.web.request import canonical_json, sha256
from wildenv.web.results import Page

NOTHING = "NOT ON THE PAGE"
"""What the model writes when the page does not answer."""

SILENT = "The page does not say."
"""What the agent is told then."""


class PageReader:
    """Reads pages with a chat model.

    Attributes:
        name: The model's name. The endpoint is not part of it, so that a recorded web replays wherever the model is served.
        version: Digest of the wording, the sampling and `max_chars`.

    Args:
        model: Who reads.
        max_chars: Characters of a page that are read at most.

    Raises:
        ConfigError: If `max_chars` is below 1,000.
    """

    def __init__(self, model: ChatModel, max_chars: int = 24_000) -> None:
        if max_chars < 1_000:
            raise ConfigError(f"env.reader.max_chars={max_chars} must be at least 1000")
        self.model = model
        self.max_chars = max_chars
        self.name = model.model
        words = [wording("page_reader"), wording("page"), NOTHING, SILENT]
        drawn = model.sampling.parameters("max_tokens", None)
        self.version = sha256(canonical_json([words, drawn, max_chars]))[:12]

    @property
    def spending(self) -> Spending:
        """What the model has spent."""
        return self.model.spending

    def read(self, page: Page, prompt: str) -> str:
        """Returns what the page says about the prompt, `SILENT` if nothing, and a note in brackets if it was read in part.

        Raises:
            Unavailable: If the model gave no usable answer to this page: a refusal, a filter, a reply without end.
            ProviderError: If the model's endpoint failed.
        """
        text, left_out = page.text.strip(), 0
        if len(text) > self.max_chars:
            passages, left_out = best_passages(text, prompt, self.max_chars)
            text = "\n\n".join(passages)
        if not text:
            return "The page has no text."
        try:
            reply = self.model.complete_sync(self._chat(page, prompt, text, left_out))
        except ReplyError as error:
            raise Unavailable(page.url, f"reader: {error.kind}", str(error)) from error
        said = reply.text.strip()
        if said.strip(" .\"'*`").upper() == NOTHING:
            said = SILENT
        return f"{said}\n({left_out} passages of the page that fit the prompt less were not read)" if left_out else said

    def _chat(self, page: Page, prompt: str, text: str, left_out: int) -> list[dict[str, object]]:
        given = wording("page").format(
            prompt=prompt,
            url=page.url,
            title=page.title,
            published=page.published or "unknown",
            cut=f"Of this page {left_out} passages that fit the question less are left out.\n" if left_out else "",
            mark=sha256(canonical_json([page.to_dict(), prompt]))[:16],
            text=text,
        )
        return [
            {"role": "system", "content": [text_block(wording("page_reader").format(nothing=NOTHING))]},
            {"role": "user", "content": [text_block(given)]},
        ]
