"""A drawing service to fail against."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.generators.image_server import ImageServer, image_server


@pytest.fixture
def server() -> Iterator[ImageServer]:
    with image_server() as running:
        yield running
