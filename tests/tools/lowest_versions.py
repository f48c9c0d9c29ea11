"""Write constraints that pin each requirement to the lowest version that requirements.txt allows.

    python tests/tools/lowest_versions.py > build/lowest.txt

`make test-lowest` installs these and runs tests/tools/smoke.py with them.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

REQUIREMENTS = Path(__file__).resolve().parents[2] / "requirements.txt"
# name, perhaps [extras], >= and the version; what follows is the upper bound and a comment.
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(\[[\w,]+\])?>=(?P<version>[\w.]+)")


def main() -> None:
    for line in REQUIREMENTS.read_text().splitlines():
        requirement = line.partition("#")[0].strip()
        if not requirement:
            continue
        found = REQUIREMENT.match(requirement)
        if found is None:
            sys.exit(f"{REQUIREMENTS.name}: {requirement!r} has no lower bound")
        sys.stdout.write(f"{found['name']}=={found['version']}\n")


if __name__ == "__main__":
    main()
