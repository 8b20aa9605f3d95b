"""Which tables a report has, in the order they are read."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.reporting.cost import budget_table, model_cost_table, web_table
from benchmarks.reporting.crops import crop_tables
from benchmarks.reporting.failures import outcome_table, unscored_table
from benchmarks.reporting.kscore import kscore_table
from benchmarks.reporting.pairs import paired_table
from benchmarks.reporting.recall import recall_table
from benchmarks.reporting.run import Run
from benchmarks.reporting.scores import component_table, domain_table, kappa_table
from benchmarks.reporting.table import Table
from benchmarks.reporting.timing import timing_table
from benchmarks.reporting.tool_use import cutoff_table, error_table, tool_table


def tables_of(runs: Sequence[Run], seed: int, timings: bool) -> list[Table]:
    """Returns the tables of one or two runs.

    Args:
        runs: The runs.
        seed: Of the bootstrap.
        timings: Whether to add wall time, which differs from replay to replay.
    """
    tables = [
        component_table(runs, seed),
        kscore_table(runs, seed),
        domain_table(runs, seed),
        kappa_table(runs, seed),
        *([paired_table(runs[0], runs[1], seed)] if len(runs) == 2 else []),
        recall_table(runs, seed),
        *crop_tables(runs, seed),
        outcome_table(runs),
        unscored_table(runs),
        tool_table(runs),
        error_table(runs),
        cutoff_table(runs),
        budget_table(runs),
        model_cost_table(runs),
        web_table(runs),
        *([timing_table(runs)] if timings else []),
    ]
    return [table for table in tables if table is not None]
