"""Write constraints that pin each requirement to the lowest version that requirements.txt allows.

    python tests/tools/lowest_versions.py > build/lowest.txt

`make test-lowest` installs these and runs tests/tools/smoke.py with them.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

REQUIREMENTS = Path(__file__).resolve().parents[2] / "requirements.txt"
# Name, perhaps [extras], >= and the version; the upper bound and a comment may follow.
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(\[[\w,]+\])?>=(?P<version>[\w.]+)")


def main() -> None:
    """Write a constraint for each requirement; exit with an error for one without a lower bound."""
    for line in REQUIREMENTS.read_text().splitlines():
        requirement = line.partition("#")[0].strip()
        if not requirement:
            continue
        match = REQUIREMENT.match(requirement)
        if match is None:
            sys.exit(f"{REQUIREMENTS.name}: {requirement!r} has no lower bound")
        sys.stdout.write(f"{match['name']}=={match['version']}\n")


if __name__ == "__main__":
    main()
