from __future__ import annotations

import pytest
from omegaconf import DictConfig, OmegaConf

from agents.runs import plain
from wildenv.errors import ConfigError


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"web": {"store": "???"}}, "web.store is missing; set web.store=..."),
        ({"env": {"web": "${nosuch.thing}"}}, "env.web cannot be resolved: Interpolation key 'nosuch.thing' not found"),
    ],
)
def test_a_config_that_is_not_whole_is_one_sentence(values: dict[str, object], says: str) -> None:
    config = OmegaConf.create(values)
    assert isinstance(config, DictConfig)
    with pytest.raises(ConfigError) as told:
        plain(config)
    assert str(told.value) == says
