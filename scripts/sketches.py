"""Write claude_session_player/data/sketches.json from the built-in rules: `make sketches`, after a change of them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from claude_session_player.redact.rules import SECRET_RULES
from claude_session_player.redact.sketch import SKETCHES_PATH, make_sketch


def sketches() -> str:
    """The sketches of all patterns, by pattern, as JSON."""
    made = {pattern: make_sketch(pattern) for pattern in sorted({rule.pattern for rule in SECRET_RULES})}
    return json.dumps(made, indent=0, ensure_ascii=False) + "\n"


def main() -> None:
    """Write the file."""
    path = Path(SKETCHES_PATH).resolve()
    path.write_text(sketches(), encoding="utf-8")
    sys.stderr.write(f"wrote {path.name}\n")


if __name__ == "__main__":
    main()
