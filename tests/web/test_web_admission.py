from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from wildenv.errors import ProviderError
from wildenv.web.admission import Admission, Answer, Counts

FULL = Answer({"results": [{"title": "t"}]})
NONE = Answer({"results": []})
BLANK = Answer({"page": {"text": " \n"}})
ABSENT = Answer({"absent": "not there"})


def script(*answers: Answer | Exception) -> Callable[[], Answer]:
    left = list(answers)

    def ask() -> Answer:
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    ask.left = left  # type: ignore[attr-defined]
    return ask


@pytest.mark.parametrize(
    ("answers", "given", "stored", "counted"),
    [
        ([FULL], FULL, True, "admitted"),
        ([NONE, NONE], NONE, True, "confirmed"),
        ([BLANK, BLANK], BLANK, True, "confirmed"),
        ([ABSENT, ABSENT], ABSENT, True, "confirmed"),
        ([NONE, FULL], FULL, True, "revised"),
        ([ABSENT, BLANK], ABSENT, False, "refused"),
    ],
)
def test_what_is_given_and_stored(answers: list[Any], given: Answer, stored: bool, counted: str) -> None:
    admission, ask = Admission(), script(*answers)
    assert admission.obtain(ask) == (given, stored)
    assert not ask.left, "every scripted answer was asked for"  # type: ignore[attr-defined]
    assert admission.counts == Counts(**{counted: 1})


@pytest.mark.parametrize("answers", [[ProviderError("down")], [NONE, ProviderError("down")]])
def test_an_error_passes_through_uncounted(answers: list[Any]) -> None:
    admission = Admission()
    with pytest.raises(ProviderError):
        admission.obtain(script(*answers))
    assert admission.counts == Counts()
