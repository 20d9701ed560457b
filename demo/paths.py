"""Where the demo finds its parts: it uses the test control plane and the integration harness."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "demo"
sys.path[:0] = [str(ROOT / "tests" / "integration")]
