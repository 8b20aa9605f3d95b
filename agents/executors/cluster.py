"""A Ray cluster: one of the run's own on this machine, or one that others run and this run merely joins.

The own one listens on the loopback interface only, tells nobody of its use, has no dashboard, and ends with this process however
that ends (after a kill, two of Ray's helper processes take up to a minute to notice). Ray keeps its log files under its own
temporary folder (``RAY_TMPDIR``, or ``ray`` in the system's). A process that uses Ray already goes on with the cluster it has.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from wildenv.errors import ConfigError, InfrastructureError, told

_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    # Ray prints what it thinks of a dead worker into whatever is on the terminal; the crew says it in a line of its own.
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",
}
# Ray's name for it: outside of a cluster, a node is reached by the loopback interface only. Read when ray is imported.
_LOOPBACK = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
_ANSWER_S = 10.0
_STORE_BYTES = 256 * 2**20
"""For episodes on their way back; more of them than fit are kept on disk by Ray meanwhile."""


@contextmanager
def own_cluster(cpus: int, gpus: float) -> Iterator[ModuleType]:
    """Starts a cluster on this machine, and ends it; gives the module ``ray``.

    Args:
        cpus: To be had in all; a count that Ray keeps, not a limit.
        gpus: Needed in all.

    Raises:
        ConfigError: If Ray is not installed or there are fewer GPUs.
        InfrastructureError: If it does not start.
    """
    os.environ.setdefault(_LOOPBACK, "0")
    with _connected(
        "a cluster of its own",
        address="local",
        include_dashboard=False,
        num_cpus=cpus,
        num_gpus=None if gpus else 0,
        object_store_memory=_STORE_BYTES,
    ) as ray:
        there = ray.cluster_resources().get("GPU", 0)
        if there < gpus:
            raise ConfigError(
                f"executor.workers and executor.gpus_per_worker need {gpus:g} GPUs and this machine has {there:g}; "
                "lower one of them (several workers may share a GPU: executor.gpus_per_worker=0.5)"
            )
        yield ray


@contextmanager
def joined_cluster(address: str, runtime_env: Mapping[str, Any]) -> Iterator[ModuleType]:
    """Joins a cluster, and leaves it as it was; gives the module ``ray``.

    Raises:
        ConfigError: If Ray is not installed.
        InfrastructureError: If there is no cluster at the address, or one of another version of Ray.
    """
    host, _, port = address.rpartition(":")
    if port.isdigit() and "//" not in host:
        # Ray itself would try for minutes.
        try:
            socket.create_connection((host.strip("[]"), int(port)), _ANSWER_S).close()
        except OSError as error:
            raise InfrastructureError(
                f"executor.address={address}: no Ray cluster answers there ({error}); start one with ray start --head, or set "
                "executor.address=null"
            ) from error
    with _connected(f"executor.address={address}", address=address, runtime_env=dict(runtime_env)) as ray:
        yield ray


@contextmanager
def _connected(what: str, **arguments: Any) -> Iterator[ModuleType]:
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ModuleNotFoundError as error:
        raise ConfigError("executor=ray needs Ray: pip install -e '.[ray]', or set executor=local") from error
    if ray.is_initialized():
        yield ray
        return
    main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGTERM)
    try:
        try:
            ray.init(log_to_driver=False, logging_level=logging.ERROR, **arguments)
        except Exception as error:
            # Whatever Ray raises here: a ConnectionError, a RuntimeError, a ValueError.
            raise InfrastructureError(
                f"executor=ray: {what} cannot be had: {told(error)} (a cluster with tokens needs "
                "RAY_AUTH_MODE=token here, see Ray's documentation)"
            ) from error
        yield ray
    finally:
        # Ends the processes of a cluster that this process started; of another one it only takes leave.
        ray.shutdown()
        if main:
            # Ray has put its own handler there.
            signal.signal(signal.SIGTERM, handler)
