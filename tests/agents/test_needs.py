from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WITHOUT = """
import sys
class Without:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {names}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Without())
"""


@pytest.mark.parametrize(
    ("module", "names", "says"),
    [
        ("benchmarks.evaluate", ["hydra", "rich"], "hydra-core and rich must be installed: pip install -e '.[bench]'"),
        ("trainers.sft", ["torch"], "torch must be installed: pip install -e '.[train]'"),
    ],
)
def test_a_package_that_is_missing_is_one_sentence(tmp_path: Path, module: str, names: list[str], says: str) -> None:
    (tmp_path / "sitecustomize.py").write_text(WITHOUT.format(names=names))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-m", module], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (1, f"error: {says}\n")


def test_the_packages_may_be_imported_without_them(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(WITHOUT.format(names=["hydra", "rich", "torch"]))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", "import benchmarks.intervals, trainers"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
