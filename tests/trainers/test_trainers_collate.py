from __future__ import annotations

from pathlib import Path

import pytest
import torch
from PIL import Image

from agents.checkpoint import Loaded
from tests.trainers.sample_rows import chat, write_rows
from trainers.collate import TrajectoryCollator
from trainers.data import Row, RowFolder, RowWriter
from trainers.objective import attach
from wildenv.errors import ConfigError, DataError
from wildenv.messages import to_hermes

ASSISTANT = {"reasoning": 1.0, "tool_call": 1.0, "answer": 1.0}


def item(row: int, kept: int = 100) -> dict[str, int]:
    return {"row": row, "kept": kept}


def test_trained_tokens_are_the_assistant_text(nano: Loaded, tmp_path: Path) -> None:
    rows = write_rows(tmp_path, 2, searches=2)
    batch = TrajectoryCollator(rows, nano.encoder, ASSISTANT)([item(0), item(1)])
    for number in (0, 1):
        trained = batch["input_ids"][number][batch["weights"][number] > 0].tolist()
        said = [m for m in rows[number].messages if m["role"] == "assistant"]
        turns = nano.tokenizer.decode(trained, skip_special_tokens=False).split(nano.tokenizer.eos_token)
        assert turns.pop() == ""
        written = [turn.replace('":', '": ').replace('","', '", "') for turn in turns]
        expected = [to_hermes(message).replace('":', '": ').replace('","', '", "') for message in said]
        assert [text.replace(" ", "") for text in written] == [text.replace(" ", "") for text in expected]


def test_only_the_last_turn_is_trained_when_asked(nano: Loaded, tmp_path: Path) -> None:
    rows = write_rows(tmp_path, 1, searches=2)
    batch = TrajectoryCollator(rows, nano.encoder, ASSISTANT, "last")([item(0)])
    text = nano.tokenizer.decode(batch["input_ids"][0][batch["weights"][0] > 0], skip_special_tokens=False)
    assert text.startswith("The first picture")
    assert "answer" in text
    assert "image_search" not in text


def test_kinds_of_token_are_weighted(nano: Loaded, tmp_path: Path) -> None:
    rows = write_rows(tmp_path, 1)
    batch = TrajectoryCollator(rows, nano.encoder, {"reasoning": 1.0, "tool_call": 2.0, "answer": 3.0})([item(0)])
    for kind, weight in ((0, 0.0), (1, 1.0), (2, 2.0), (3, 3.0)):
        chosen = batch["weights"][batch["classes"] == kind]
        assert len(chosen) > 0
        assert set(chosen.tolist()) == {weight}


def test_padding_and_neighbours_do_not_change_a_row(nano: Loaded, tmp_path: Path) -> None:
    with RowWriter(tmp_path) as writer:
        for number, searches in enumerate((1, 3)):
            digest = writer.images.put(Image.new("RGB", (56, 56), (200 * number, 0, 0)))
            writer.write(Row(f"{number}", f"{number}", chat(digest, searches)))
    collate = TrajectoryCollator(RowFolder(tmp_path), nano.encoder, ASSISTANT)
    attach(nano.model)
    together = nano.model(**collate([item(0), item(1)])).loss_sum
    alone = nano.model(**collate([item(0)])).loss_sum + nano.model(**collate([item(1)])).loss_sum
    torch.testing.assert_close(together, alone)


def test_a_tool_picture_changes_the_loss_and_reaches_the_vision_tower(nano: Loaded, tmp_path: Path) -> None:
    losses = []
    attach(nano.model)
    for colour in ("red", "blue"):
        with RowWriter(tmp_path / colour) as writer:
            writer.write(Row("r", "t", chat(writer.images.put(Image.new("RGB", (56, 56), colour)))))
        batch = TrajectoryCollator(RowFolder(tmp_path / colour), nano.encoder, ASSISTANT)([item(0)])
        out = nano.model(**batch)
        losses.append(out.loss_sum.item())
    assert abs(losses[0] - losses[1]) > 1e-6
    out.loss_sum.backward()
    gradients = [p.grad.abs().sum().item() for p in nano.model.model.visual.parameters() if p.grad is not None]
    assert len(gradients) > 5
    assert max(gradients) > 0


def test_a_dummy_picture_takes_the_tower_along_and_changes_nothing(nano: Loaded, tmp_path: Path) -> None:
    rows = write_rows(tmp_path, 2, pictures=False)
    attach(nano.model)
    plain = TrajectoryCollator(rows, nano.encoder, ASSISTANT)([item(0), item(1)])
    with_dummy = TrajectoryCollator(rows, nano.encoder, ASSISTANT, dummy_image=True)([item(0), item(1)])
    assert "pixel_values" not in plain
    assert len(with_dummy["image_grid_thw"]) == 1

    def gradients(batch: dict[str, torch.Tensor]) -> tuple[float, dict[str, torch.Tensor | None]]:
        nano.model.zero_grad(set_to_none=True)
        loss = nano.model(**batch).loss_sum
        loss.backward()
        return loss.item(), {name: p.grad for name, p in nano.model.named_parameters()}

    loss, expected = gradients(plain)
    dummy_loss, found = gradients(with_dummy)
    assert dummy_loss == pytest.approx(loss, rel=1e-6)
    for name, gradient in found.items():
        assert gradient is not None, name
        if "visual" in name:
            assert not gradient.any(), name
        else:
            reference = expected[name]
            assert reference is not None
            torch.testing.assert_close(gradient, reference, atol=1e-5, rtol=1e-4)


def test_a_batch_with_pictures_gets_no_dummy(nano: Loaded, tmp_path: Path) -> None:
    rows = write_rows(tmp_path, 2)
    batch = TrajectoryCollator(rows, nano.encoder, ASSISTANT, dummy_image=True)([item(0), item(1)])
    assert len(batch["image_grid_thw"]) == 2


@pytest.mark.parametrize("weights", [{"reasoning": -1.0}, {"thoughts": 1.0}, {"reasoning": 0.0}])
def test_impossible_weights_name_the_setting(nano: Loaded, tmp_path: Path, weights: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=r"trainer\.token_weights"):
        TrajectoryCollator(write_rows(tmp_path, 1), nano.encoder, weights)


def test_a_row_with_nothing_to_train_is_named(nano: Loaded, tmp_path: Path) -> None:
    collate = TrajectoryCollator(write_rows(tmp_path, 1), nano.encoder, {"answer": 1.0})
    with pytest.raises(DataError, match="row-0"):
        collate([item(0, kept=3)])
