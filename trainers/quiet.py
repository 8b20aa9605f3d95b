"""What libraries say that is no news to the user of a run: deprecations among themselves, bars of milliseconds.

Nothing of what they say about the run itself is taken away.
"""

from __future__ import annotations

import logging
import warnings

from transformers.utils import logging as transformers_logging

_OLD_NAMES = (
    # Between pinned versions of transformers, peft and torch.
    r".*is_gradient_checkpointing.*",
    r".*all_gather_into_tensor.*",
    r".*reduce_scatter_tensor.*",
)


def quiet() -> None:
    """Call it once a process, before a model is opened."""
    for message in _OLD_NAMES:
        warnings.filterwarnings("ignore", message=message, category=FutureWarning)
    for name in ("bm25s", "matplotlib.font_manager", "matplotlib", "httpx", "httpx2"):
        logging.getLogger(name).setLevel(logging.WARNING)
    transformers_logging.disable_progress_bar()
