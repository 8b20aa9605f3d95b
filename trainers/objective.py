"""The weighted next-token loss of SFT, without logits for the whole sequence.

At 40K tokens and a vocabulary of 152K the logits of one trajectory are 24 GB in float32. Here only positions with a positive
weight are projected, a chunk at a time, and each chunk leaves behind its share of the gradient instead of its logits (the
gradient of a softmax cross-entropy is known as soon as the loss is). Peak memory is one chunk of logits and one float32
gradient of the head.

TRL's own fused head is not used for this: on a CPU it projects every position, trained or not. Double backward is not
supported, and neither are heads that scale or cap their logits: `attach` refuses them.
"""

from __future__ import annotations

import functools
import types
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.utils import ModelOutput
from trl.trainer.utils import maybe_gather_lm_head_ctx

from wildenv.errors import ConfigError

CLASSES = 4
"""Kinds of token, see `agents.encode.TokenClass`."""

_SCALED_HEADS = ("final_logit_softcapping", "logit_scale", "logits_scaling", "lm_head_multiplier", "output_multiplier")


@dataclass
class TokenLoss(ModelOutput):
    """What a model with `attach` returns when it is given weights.

    Attributes:
        loss_sum: Scalar, sum over positions of weight x cross-entropy; the only differentiable field.
        weight_sum: Scalar, sum of the weights of all next-token targets.
        class_loss: float32, `CLASSES` values: unweighted cross-entropy summed by kind of token, over trained positions.
        class_count: Trained positions by kind of token.
        correct: Scalar, trained positions whose target is the most likely token.
    """

    loss_sum: Tensor | None = None
    weight_sum: Tensor | None = None
    class_loss: Tensor | None = None
    class_count: Tensor | None = None
    correct: Tensor | None = None


class _ChunkedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        weights: Tensor,
        chunk: int,
        learns: bool,
    ) -> tuple[Tensor, Tensor, Tensor]:
        device = hidden.device
        dtype = torch.get_autocast_dtype(device.type) if torch.is_autocast_enabled(device.type) else hidden.dtype
        wants_hidden, wants_weight, wants_bias = (learns and needs for needs in ctx.needs_input_grad[:3])
        # float32 throughout: a bfloat16 sum over thousands of chunks would lose the small terms.
        grad_hidden = torch.zeros_like(hidden, dtype=torch.float32) if wants_hidden else None
        grad_weight = torch.zeros_like(weight, dtype=torch.float32) if wants_weight else None
        grad_bias = torch.zeros_like(bias, dtype=torch.float32) if bias is not None and wants_bias else None
        losses = torch.zeros(len(targets), device=device, dtype=torch.float32)
        top = torch.zeros(len(targets), device=device, dtype=torch.bool)
        head = weight.to(dtype)
        for start in range(0, len(targets), chunk):
            part = slice(start, start + chunk)
            states, wanted = hidden[part].to(dtype), targets[part, None]
            logits = (states @ head.t() if bias is None else torch.addmm(bias.to(dtype), states, head.t())).float()
            top[part] = logits.argmax(-1) == targets[part]
            log_z = logits.logsumexp(-1, keepdim=True)
            losses[part] = (log_z - logits.gather(1, wanted)).squeeze(1)
            if grad_hidden is None and grad_weight is None and grad_bias is None:
                continue
            grad = logits.sub_(log_z).exp_().scatter_add_(1, wanted, torch.full_like(log_z, -1.0))
            grad.mul_(weights[part, None])
            low = grad.to(dtype)
            if grad_hidden is not None:
                grad_hidden[part] = low @ head
            if grad_weight is not None:
                grad_weight += low.t() @ states
            if grad_bias is not None:
                grad_bias += grad.sum(0)
        ctx.dtypes = hidden.dtype, weight.dtype, None if bias is None else bias.dtype
        ctx.save_for_backward(grad_hidden, grad_weight, grad_bias)
        ctx.mark_non_differentiable(losses, top)
        return (losses * weights).sum(), losses, top

    @staticmethod
    def backward(ctx: Any, grad: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
        scaled = (
            None if part is None else (part * grad).to(dtype) for part, dtype in zip(ctx.saved_tensors, ctx.dtypes, strict=True)
        )
        return (*scaled, None, None, None, None)


def token_loss(
    hidden: Tensor, head: nn.Module, input_ids: Tensor, weights: Tensor, classes: Tensor, chunk: int = 1024
) -> TokenLoss:
    """Scores every next token that has a positive weight.

    Args:
        hidden: Last hidden states, batch x length x size.
        head: The output embedding: a linear layer.
        input_ids: Token ids, batch x length; the target of position t is token t + 1.
        weights: Loss weight of each token *as a target*, batch x length, at least 0; the first token is never a target.
        classes: Kind of each token, batch x length.
        chunk: Positions projected at a time.

    Returns:
        Sums, not means: the caller knows what to divide by.
    """
    target_weights = weights[:, 1:].to(torch.float32)
    trained = target_weights > 0
    targets, kinds = input_ids[:, 1:][trained], classes[:, 1:][trained]
    weight, bias = head.weight, getattr(head, "bias", None)
    # Gathered once however many chunks follow: under ZeRO-3 every rank must join the same number of collectives.
    with maybe_gather_lm_head_ctx(weight, bias):
        total, losses, top = _ChunkedCrossEntropy.apply(
            hidden[:, :-1][trained], weight, bias, targets, target_weights[trained], chunk, torch.is_grad_enabled()
        )
    zeros = torch.zeros(CLASSES, device=hidden.device)
    return TokenLoss(
        loss_sum=total,
        weight_sum=target_weights.sum(),
        class_loss=zeros.index_add(0, kinds, losses),
        class_count=torch.bincount(kinds, minlength=CLASSES),
        correct=top.sum(),
    )


def attach(model: PreTrainedModel, chunk: int = 1024) -> None:
    """Teaches `model` to answer ``model(..., weights=, classes=)`` with a `TokenLoss`; other calls are unchanged.

    The loss is computed inside the model's own forward because DistributedDataParallel and ZeRO-3 only see what happens there.

    Raises:
        ConfigError: If the model scales or caps its logits, which `token_loss` would ignore.
    """
    text_config = model.config.get_text_config()
    scaled = [name for name in _SCALED_HEADS if getattr(text_config, name, None) not in (None, 1.0)]
    if scaled:
        raise ConfigError(f"model: {type(model).__name__} changes its logits by {scaled}, which the chunked loss does not do")
    plain = model.forward

    @functools.wraps(type(model).forward)
    def forward(
        self: PreTrainedModel, *args: Any, weights: Tensor | None = None, classes: Tensor | None = None, **kw: Any
    ) -> Any:
        if weights is None:
            return plain(*args, **kw)
        hidden = self.base_model(*args, **kw, use_cache=False).last_hidden_state
        return token_loss(hidden, self.get_output_embeddings(), kw["input_ids"], weights, classes, chunk)

    model.forward = types.MethodType(forward, model)
