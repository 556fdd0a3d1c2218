"""The records that name a session."""

from typing import Final

TITLE_KEYS: Final = {
    "custom-title": "customTitle",
    "ai-title": "aiTitle",
    "agent-name": "agentName",
    "summary": "summary",
}
"""Each record type, the best name first, and the key that holds the name."""
