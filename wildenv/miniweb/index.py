"""Full-text search over pages and captions: BM25, deterministic, and blind to dates.

Ties are broken by document order. Nothing is filtered here; a cutoff is the caller's business.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

_WORD = re.compile(r"[a-z0-9]+")
_STOP = frozenset(
    {
        *("a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "i", "in", "is", "it", "its"),
        *("me", "my", "of", "on", "or", "that", "the", "this", "to", "was", "with"),
    }
)


def words(text: str) -> list[str]:
    """Returns the indexed words of a text."""
    return [word for word in _WORD.findall(text.lower()) if word not in _STOP]


class Bm25Index:
    """A read-only BM25 index; safe to query from many threads at once.

    Args:
        documents: The texts, in tie-breaking order.
    """

    def __init__(self, documents: Sequence[str]) -> None:
        vocabulary: dict[str, int] = {}
        tokens = [[vocabulary.setdefault(word, len(vocabulary)) for word in words(text)] for text in documents]
        model = _model()
        model.index((tokens, vocabulary), show_progress=False, create_empty_token=False)
        self._vocabulary = vocabulary
        self._model = model
        self._size = len(documents)

    def search(self, query: str, limit: int) -> list[int]:
        """Returns the numbers of at most `limit` documents that share a word with the query, best first."""
        found = [self._vocabulary[word] for word in words(query) if word in self._vocabulary]
        if not found or limit < 1:
            return []
        scores = self._model.get_scores(found)
        (hits,) = np.nonzero(scores)
        if len(hits) > limit:
            threshold = np.partition(scores[hits], len(hits) - limit)[len(hits) - limit]
            hits = hits[scores[hits] >= threshold]
        return [int(hit) for hit in hits[np.argsort(-scores[hits], kind="stable")][:limit]]

    def arrays(self) -> dict[str, Array]:
        """Returns the index as arrays, to be stored."""
        scores = self._model.scores
        return {
            "data": scores["data"],
            "indices": scores["indices"],
            "indptr": scores["indptr"],
            "size": np.array(self._size),
            "vocabulary": np.frombuffer(json.dumps(list(self._vocabulary)).encode(), dtype=np.uint8),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Bm25Index:
        """Reads `arrays` back."""
        index = cls.__new__(cls)
        index._size = int(arrays["size"])
        index._vocabulary = {word: i for i, word in enumerate(json.loads(arrays["vocabulary"].tobytes()))}
        index._model = _model()
        index._model.vocab_dict = index._vocabulary
        index._model.nonoccurrence_array = None
        index._model.scores = {**{name: arrays[name] for name in ("data", "indices", "indptr")}, "num_docs": index._size}
        return index


def _model() -> Any:
    import bm25s  # lazily: it costs 0.15 s

    return bm25s.BM25(k1=1.2, b=0.75)
