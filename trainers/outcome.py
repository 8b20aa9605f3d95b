"""How a run of several ended, written into its directory when Hydra is through with it.

A run that was killed together with the process that started it leaves nothing.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hydra.core.utils import JobReturn, JobStatus
from hydra.experimental.callback import Callback
from omegaconf import DictConfig

from wildenv.errors import WildenvError
from wildenv.secrets import scrub

OUTCOME = "outcome.json"


class Outcome(Callback):
    """A callback of Hydra: ``+hydra.callbacks.outcome._target_=trainers.outcome.Outcome``."""

    def on_job_end(self, config: DictConfig, job_return: JobReturn, **kwargs: Any) -> None:
        """Writes ``outcome.json``: the run's number, its settings, whether it is done, and what went wrong."""
        error = job_return._return_value if job_return.status is JobStatus.FAILED else None
        said = None if error is None else str(error) if isinstance(error, WildenvError) else f"{type(error).__name__}: {error}"
        outcome = {
            "number": int(config.hydra.job.num),
            "settings": list(config.hydra.overrides.task),
            "done": job_return.status is JobStatus.COMPLETED,
            "error": None if said is None else scrub(said),
        }
        written = json.dumps(outcome, ensure_ascii=False, indent=1) + "\n"
        (Path(config.hydra.runtime.output_dir) / OUTCOME).write_text(written, encoding="utf-8")
