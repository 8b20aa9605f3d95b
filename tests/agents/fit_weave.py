"""Fits the table of `agents/lci/weave.json`: run `python -m tests.agents.fit_weave` after changing the drawings.

Draws random things, reads them as the policy sees them, and fits a multinomial logistic regression to the measures. Prints
the accuracy on pictures it did not fit.
"""

from __future__ import annotations

import json
from random import Random

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from agents.lci import pixels
from agents.lci.colours import WORDS, name_pixels
from agents.lci.weave import PATTERN_WORDS, TABLE
from tests.miniweb.pictures_sample import random_scene
from wildenv.images import PixelPolicy
from wildenv.miniweb.pictures import render

SHOTS = ("press", "lineup", "fan", "stage")


def samples(count: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Measures and pattern numbers of the badged things in `count` pictures."""
    rng = Random(f"weave:{seed}")
    rows, wanted = [], []
    for i in tqdm(range(count), desc="draw and measure"):
        scene = random_scene(rng, SHOTS[i % len(SHOTS)], i)
        drawn = render(scene)
        image = np.asarray(PixelPolicy().fit(drawn.image))
        names = name_pixels(image)
        height, width = names.shape
        for look, (x0, y0, x1, y1) in zip(scene.subjects, drawn.boxes, strict=True):
            part = (
                slice(y0 * height // 1000, -(-y1 * height // 1000)),
                slice(x0 * width // 1000, -(-x1 * width // 1000)),
            )
            badge = pixels.find_badge(image[part], names[part])
            if badge is None:
                continue
            main, trim = WORDS.index(look.main) + 1, WORDS.index(look.trim) + 1
            measures = pixels.measures_of(names[part], main, trim, badge)
            if measures is not None:
                rows.append(measures)
                wanted.append(PATTERN_WORDS.index(look.pattern))
    return np.array(rows), np.array(wanted)


def fit(rows: NDArray[np.float64], wanted: NDArray[np.int64], steps: int = 1500) -> dict[str, NDArray[np.float64]]:
    """Multinomial logistic regression with a little weight decay, by gradient descent with momentum."""
    centre, scale = rows.mean(0), rows.std(0) + 1e-6
    x = np.clip((rows - centre) / scale, -4, 4)
    target = np.eye(len(PATTERN_WORDS))[wanted]
    weights, bias = np.zeros((x.shape[1], target.shape[1])), np.zeros(target.shape[1])
    pace_w, pace_b = np.zeros_like(weights), np.zeros_like(bias)
    for _ in range(steps):
        score = x @ weights + bias
        odds = np.exp(score - score.max(1, keepdims=True))
        error = odds / odds.sum(1, keepdims=True) - target
        pace_w = 0.9 * pace_w + x.T @ error / len(x) + 2e-4 * weights
        pace_b = 0.9 * pace_b + error.mean(0)
        weights -= 0.15 * pace_w
        bias -= 0.15 * pace_b
    return {"centre": centre, "scale": scale, "weights": weights, "bias": bias}


def main() -> None:
    """Fits, reports and writes the table."""
    table = fit(*samples(2400, seed=0))
    rows, wanted = samples(400, seed=1)
    score = np.clip((rows - table["centre"]) / table["scale"], -4, 4) @ table["weights"] + table["bias"]
    tqdm.write(f"accuracy on {len(rows)} unseen things: {(score.argmax(1) == wanted).mean():.3f}")
    rounded = {key: np.round(value, 3).tolist() for key, value in table.items()}
    TABLE.write_text(json.dumps(rounded) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
