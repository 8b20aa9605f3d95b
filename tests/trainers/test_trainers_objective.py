from __future__ import annotations

import pytest
import torch
from torch import nn

from agents.checkpoint import Loaded
from trainers.objective import attach, token_loss
from wildenv.errors import ConfigError


def plain_loss(hidden: torch.Tensor, head: nn.Linear, ids: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    logits = head(hidden[:, :-1])
    losses = nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), reduction="none")
    return (losses * weights[:, 1:].flatten()).sum()


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("chunk", [1, 5, 1000])
def test_chunked_loss_and_gradients_equal_the_plain_ones(chunk: int, bias: bool) -> None:
    torch.manual_seed(0)
    head = nn.Linear(8, 37, bias=bias)
    hidden = torch.randn(3, 11, 8, requires_grad=True)
    ids, classes = torch.randint(37, (3, 11)), torch.randint(4, (3, 11))
    weights = torch.randint(3, (3, 11)).float() * 0.7
    expected = plain_loss(hidden, head, ids, weights)
    wanted = torch.autograd.grad(expected / 3, [hidden, *head.parameters()])
    out = token_loss(hidden, head, ids, weights, classes, chunk)
    assert out.loss_sum is not None
    found = torch.autograd.grad(out.loss_sum / 3, [hidden, *head.parameters()])
    torch.testing.assert_close(out.loss_sum, expected)
    torch.testing.assert_close(out.weight_sum, weights[:, 1:].sum())
    for ours, theirs in zip(found, wanted, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_measures_by_kind_add_up() -> None:
    torch.manual_seed(0)
    head, hidden = nn.Linear(8, 20, bias=False), torch.randn(2, 9, 8)
    ids, classes = torch.randint(20, (2, 9)), torch.randint(1, 4, (2, 9))
    with torch.no_grad():
        out = token_loss(hidden, head, ids, torch.ones(2, 9), classes)
        hits = (head(hidden[:, :-1]).argmax(-1) == ids[:, 1:]).sum()
    assert out.class_loss is not None
    assert out.class_count is not None
    torch.testing.assert_close(out.class_loss.sum(), out.loss_sum)
    assert out.class_count.tolist() == torch.bincount(classes[:, 1:].flatten(), minlength=4).tolist()
    assert out.correct == hits


def test_nothing_to_train_gives_zero_with_gradients() -> None:
    head, hidden = nn.Linear(8, 20), torch.randn(2, 9, 8, requires_grad=True)
    zeros = torch.zeros(2, 9)
    out = token_loss(hidden, head, torch.zeros(2, 9, dtype=torch.long), zeros, zeros.long())
    assert out.loss_sum is not None
    out.loss_sum.backward()
    assert hidden.grad is not None
    assert not hidden.grad.any()


def test_logits_of_untrained_positions_are_never_computed(nano: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    attach(nano.model)
    projected = []
    matmul = torch.Tensor.matmul
    monkeypatch.setattr(torch.Tensor, "__matmul__", lambda a, b: projected.append(tuple(a.shape)) or matmul(a, b))
    ids = torch.randint(100, (1, 50))
    weights = torch.zeros(1, 50)
    weights[0, 40:43] = 1
    nano.model(input_ids=ids, weights=weights, classes=torch.ones_like(ids))
    vocab_products = [shape for shape in projected if shape == (3, 32)]
    assert vocab_products
    assert max(shape[0] for shape in projected if len(shape) == 2 and shape[1] == 32) == 3


def test_a_head_that_caps_its_logits_is_refused(nano: Loaded) -> None:
    nano.model.config.get_text_config().final_logit_softcapping = 30.0
    with pytest.raises(ConfigError, match="final_logit_softcapping"):
        attach(nano.model)
