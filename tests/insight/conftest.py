from __future__ import annotations

from collections.abc import Iterator

import pytest

from excerpt.base.settings import Settings
from excerpt.index.snapshot import Snapshot
from excerpt.insight.overview import build_overview
from excerpt.insight.overview_parts import Overview
from excerpt.search.engine import Engine
from tests.insight.bee_notes import NOTES
from tests.search.library import open_vault


@pytest.fixture(scope="session")
def bee_snapshot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    """Index the beekeeper's vault and return its snapshot."""
    snapshot = open_vault(tmp_path_factory.mktemp("bees"), NOTES)
    yield snapshot
    snapshot.close()


@pytest.fixture(scope="session")
def bee_engine(bee_snapshot: Snapshot) -> Engine:
    return Engine(bee_snapshot, Settings())


@pytest.fixture(scope="session")
def hive_overview(bee_engine: Engine) -> Overview:
    return build_overview(bee_engine, "hive")
