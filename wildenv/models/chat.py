"""One client of any OpenAI-compatible chat endpoint: cached, priced, schema-checked, bounded in time.

Modes are those of the web (`wildenv.web.recorder`): ``live`` keeps nothing, ``record`` answers from the store and asks for what
is missing, ``refresh`` asks for everything once again and overwrites, ``replay`` never asks. A stored reply is found by all that
can change it (model name, chat with the digests of its pictures, tools, schema, sampling, form of the pictures) and not by the
address of the endpoint: two endpoints that serve different models under one name need two stores. Failures, refusals and replies
cut short are never stored.

`ChatModel.complete_sync` works from any number of threads; `ChatModel.complete` is the same in a thread of its own. An async call
that is cancelled leaves that thread to finish.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any, Self, get_args

import anyio.to_thread

from wildenv.errors import CacheMiss, ConfigError, DataError, ProviderError
from wildenv.images import ImageStore, PixelPolicy
from wildenv.messages import Message
from wildenv.models.ask import Ask
from wildenv.models.dialect import Dialect
from wildenv.models.pictures import Pictures
from wildenv.models.reply import Completion, Reply, ReplyError, Unreadable, read_completion, require_whole
from wildenv.models.sampling import Sampling
from wildenv.models.shape import Misfit, Shape
from wildenv.models.usage import Meter, Prices, Usage
from wildenv.models.wire import Line, Wire
from wildenv.web.deadline import remaining
from wildenv.web.flight import SingleFlight
from wildenv.web.net.manners import Manners, Rules, TryAgain
from wildenv.web.net.spending import Spending
from wildenv.web.recorder import Mode
from wildenv.web.store import Store

NAMESPACE = "chat"
"""Of the store; never part of a pack of the web."""

_PARTS = {"sampling": Sampling, "dialect": Dialect, "pictures": Pictures, "rules": Rules, "prices": Prices}


class ChatModel:
    """A model behind an endpoint. Safe for threads; close it, or use it as a context manager, to end its connections.

    Args:
        model: Name of the model, as the endpoint knows it.
        base_url: Of the endpoint, such as ``http://127.0.0.1:8000/v1``.
        api_key_env: Name of the environment variable with the key; None for an endpoint without one. Not read by ``replay``.
        sampling: How words are drawn.
        dialect: What this endpoint understands differently.
        pictures: Format and size of the pictures that are sent.
        rules: How many requests at once and how patient to be.
        timeout_s: Seconds for one reply. One that takes longer is not asked for again: it would take as long.
        prices: For the cost in `usage`.
        store: Where replies are kept.
        mode: One of the four; None takes ``record`` with a store, ``replay`` with one that is read-only, ``live`` without one.
        headers: Sent with every request; not part of the key. None that holds a secret: its value would be written to disk.
        headers_env: Further headers: the name of the environment variable that holds the value of each.
        setting: Where these arguments stand in the config, for messages.
        line: What carries requests instead of a connection to `base_url`, which then is its name in messages.

    Attributes:
        spending: What this object has spent since it was made, live; its credits are tokens.

    Raises:
        ConfigError: If a value is not valid, or the mode lacks its store.
    """

    def __init__(
        self,
        model: str,
        base_url: str,
        *,
        api_key_env: str | None = None,
        sampling: Sampling | None = None,
        dialect: Dialect | None = None,
        pictures: Pictures | None = None,
        rules: Rules | None = None,
        timeout_s: float = 120.0,
        prices: Prices | None = None,
        store: Store | None = None,
        mode: str | None = None,
        headers: Mapping[str, str] | None = None,
        headers_env: Mapping[str, str] | None = None,
        setting: str = "model",
        line: Line | None = None,
    ) -> None:
        if not model:
            raise ConfigError(f"{setting}.model is not set; give the name that the endpoint serves")
        if not 0 < timeout_s < threading.TIMEOUT_MAX:
            raise ConfigError(f"{setting}.timeout_s={timeout_s} must be a positive number of seconds")
        self.model = model
        self.sampling = sampling or Sampling()
        self.dialect = dialect or Dialect()
        self.pictures = pictures or Pictures()
        self.timeout_s = timeout_s
        self.setting = setting
        self.prices = prices or Prices()
        self.mode = _mode(mode, store, setting)
        self._store = store if self.mode != "live" else None
        self._wire = Wire(base_url, api_key_env, headers or {}, setting, headers_env) if line is None else line
        self._manners = Manners(f"{setting} ({model})", rules or Rules())
        self._meter = Meter(self.prices)
        self.spending = Spending()
        self._flights = SingleFlight[tuple[dict[str, Any], bool]]()
        self._settled: set[str] = set()

    @classmethod
    def from_config(cls, config: Mapping[str, Any], store: Store | None = None, setting: str = "model") -> Self:
        """Makes a model of plain values, as they stand in a config.

        Args:
            config: Arguments by name; ``sampling``, ``dialect``, ``pictures`` (with ``pixels``), ``rules`` and ``prices`` are
                mappings.
            store: Where replies are kept.
            setting: Where the config stands, for messages.

        Raises:
            ConfigError: If a name is unknown or a value not valid.
        """
        values = dict(config)
        for name, kind in _PARTS.items():
            if isinstance(values.get(name), Mapping):
                part = dict(values[name])
                if name == "pictures" and isinstance(part.get("pixels"), Mapping):
                    part["pixels"] = _built(PixelPolicy, part["pixels"], f"{setting}.pictures.pixels")
                values[name] = _built(kind, part, f"{setting}.{name}")
        made: Self = _built(partial(cls, store=store, setting=setting), values, setting)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> ChatModel:
        # Gymnasium copies the arguments an environment was made with; a model is shared, like a file.
        return self

    def __enter__(self) -> ChatModel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connections; a later request opens them again."""
        self._wire.close()

    @property
    def usage(self) -> Usage:
        """What all replies so far took, with their cost."""
        return self._meter.total

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        schema: Mapping[str, Any] | None = None,
        images: ImageStore | None = None,
        seed: int | None = None,
    ) -> Reply:
        """`complete_sync` in a thread of its own."""
        call = partial(self.complete_sync, messages, tools=tools, schema=schema, images=images, seed=seed)
        # How many ask at once is the manners' to say: the limiter only keeps anyio's own limit out of it.
        return await anyio.to_thread.run_sync(call, abandon_on_cancel=True, limiter=anyio.CapacityLimiter(1))

    def complete_sync(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        schema: Mapping[str, Any] | None = None,
        images: ImageStore | None = None,
        seed: int | None = None,
    ) -> Reply:
        """Returns the model's next turn.

        Args:
            messages: The chat in canonical form (`wildenv.messages`).
            tools: Tools in OpenAI's form.
            schema: JSON schema that the reply has to fit; a first reply that does not is shown to the model with what is wrong,
                once.
            images: Where the pictures of the chat are.
            seed: Replaces the seed of the sampling for this call.

        Raises:
            ReplyError: If the reply cannot be used: cut short, filtered, refused, empty, or not of the schema twice.
            ProviderError: If the endpoint failed; `kind` says how.
            CacheMiss: In ``replay``, if the reply is not recorded.
            DeadlineExceeded: If the tool call this is part of ran out of time.
            ConfigError: If the key, the package or the schema is missing or not valid.
            UsageError: If the chat has pictures and `images` is not given.
        """
        shape = None if schema is None else Shape(schema)
        ask = Ask(self, messages, tools, shape, images, seed)
        if self._store is None:
            return self._reply(self._obtain(ask), ask, cached=False)
        row = self._stored(self._store, ask.key)
        if row is not None:
            return self._reply(row, ask, cached=True)
        store = self._store
        (row, stored), led = self._flights.run(ask.key, lambda: self._lead(store, ask))
        return self._reply(row, ask, cached=stored or not led)

    def _stored(self, store: Store, key: str) -> dict[str, Any] | None:
        return None if self.mode == "refresh" and key not in self._settled else store.get(NAMESPACE, key)

    def _lead(self, store: Store, ask: Ask) -> tuple[dict[str, Any], bool]:
        """Returns the reply, and whether it was in the store: it may have been put there since this call looked."""
        row = self._stored(store, ask.key)
        if row is not None:
            return row, True
        if self.mode == "replay":
            advice = f"set {self.setting}.mode=record, with a store that can be written, to ask for it"
            raise CacheMiss(f"{self.setting}: no reply of {self.model} to this chat is recorded (key {ask.key[:12]}); {advice}")
        row = self._obtain(ask)
        store.put(NAMESPACE, ask.key, ask.request, row)
        self._settled.add(ask.key)
        return row, False

    def _obtain(self, ask: Ask) -> dict[str, Any]:
        """Asks the endpoint; returns the row that is stored."""
        first = self._ask(ask.body())
        if ask.shape is None:
            return {"completion": first.to_dict(), "usage": first.usage.counts(), "repaired": False}
        try:
            ask.shape.read(first.text)
        except Misfit as misfit:
            try:
                second = self._ask(ask.repair(first.text, str(misfit)))
            except ReplyError as error:
                error.usage = self.prices.priced(first.usage + error.usage)
                raise
            usage = first.usage + second.usage
            try:
                ask.shape.read(second.text)
            except Misfit as still:
                raise ReplyError(
                    f"the reply of {self.model} does not fit its schema, nor did it after one repair: {still}",
                    "schema",
                    second.text,
                    self.prices.priced(usage),
                ) from None
            return {"completion": second.to_dict(), "usage": usage.counts(), "repaired": True}
        return {"completion": first.to_dict(), "usage": first.usage.counts(), "repaired": False}

    def _ask(self, body: Mapping[str, Any]) -> Completion:
        tries = count()
        completion = self._manners.run(lambda: self._attempt(body, next(tries)))
        usage = self.prices.priced(completion.usage)
        self._meter.add(usage)
        self.spending.add(credits=usage.prompt_tokens + usage.completion_tokens, cost=usage.cost)
        try:
            require_whole(completion, self.setting)
        except ReplyError as error:
            error.usage = usage
            raise
        return completion

    def _attempt(self, body: Mapping[str, Any], earlier: int) -> Completion:
        limit_s = remaining(self.timeout_s)
        self.spending.add(requests=1, retries=min(earlier, 1))
        try:
            answer = self._wire.send(body, limit_s)
            self.spending.add(bytes=len(answer.encode()))
            return read_completion(answer)
        except TimeoutError:
            # Raises if it was the tool call's time that ran out, not this model's.
            remaining(self.timeout_s)
            advice = f"raise {self.setting}.timeout_s or lower {self.setting}.sampling.max_tokens"
            raise ProviderError(f"{self.setting}: {self.model} did not reply within {limit_s:g} s; {advice}", "timeout") from None
        except Unreadable as error:
            failure = ProviderError(f"{self.setting}: {self._wire.base_url} gave no chat completion: {error}", error.kind)
            raise TryAgain(error.kind, None, failure) from error

    def _reply(self, row: Mapping[str, Any], ask: Ask, cached: bool) -> Reply:
        try:
            completion = Completion.from_dict(row["completion"])
            usage, repaired = Usage(**row["usage"]), bool(row["repaired"])
            data = None if ask.shape is None else ask.shape.read(completion.text)
        except (KeyError, TypeError, Misfit) as error:
            advice = f"record it again with {self.setting}.mode=refresh"
            raise DataError(f"{self.setting}: the stored reply {ask.key[:12]} is not readable ({error}); {advice}") from error
        if cached:
            self._meter.add(Usage(cached=1))
        return Reply(
            text=completion.text,
            reasoning=completion.reasoning,
            tool_calls=completion.tool_calls,
            data=data,
            finish=completion.finish,
            model=completion.model,
            fingerprint=completion.fingerprint,
            seed=ask.seed,
            temperature=self.sampling.temperature,
            repaired=repaired,
            usage=self.prices.priced(usage),
            cached=cached,
        )


def _mode(mode: str | None, store: Store | None, setting: str) -> str:
    if mode is None:
        return "live" if store is None else "replay" if store.read_only else "record"
    if mode not in get_args(Mode):
        raise ConfigError(f"{setting}.mode={mode!r} is not one of {', '.join(get_args(Mode))}")
    if mode != "live" and store is None:
        raise ConfigError(f"{setting}.mode={mode} needs a store for replies; give one, or use {setting}.mode=live")
    if mode in ("record", "refresh") and store is not None and store.read_only:
        raise ConfigError(
            f"{setting}.mode={mode} writes and the store is read-only; give another one or use {setting}.mode=replay"
        )
    return mode


def _built(kind: Any, values: Mapping[str, Any], setting: str) -> Any:
    try:
        return kind(**values)
    except (ConfigError, TypeError) as error:
        raise ConfigError(f"{setting}: {error}") from error
