from __future__ import annotations

import pytest

from wildenv.errors import ConfigError
from wildenv.secrets import HIDDEN, Secret, scrub, secret_from_env


def test_a_secret_never_shows_itself() -> None:
    secret = Secret("k3y-with/slash")
    assert (repr(secret), str(secret), f"{secret}") == (HIDDEN,) * 3
    assert secret.reveal() == "k3y-with/slash"
    assert scrub("got k3y-with/slash and k3y-with%2Fslash") == f"got {HIDDEN} and {HIDDEN}"


def test_a_longer_secret_that_holds_a_shorter_one_is_hidden_whole() -> None:
    Secret("abcdef-1")
    Secret("abcdef-1234")
    assert scrub("x abcdef-1234 y") == f"x {HIDDEN} y"


def test_a_missing_key_names_variable_and_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOME_KEY", raising=False)
    with pytest.raises(ConfigError, match=r"SOME_KEY is not set; export SOME_KEY=.*web\.search\.key_env"):
        secret_from_env("SOME_KEY", "web.search.key_env")
    monkeypatch.setenv("SOME_KEY", "  value-1  ")
    assert secret_from_env("SOME_KEY", "web.search.key_env").reveal() == "value-1"
