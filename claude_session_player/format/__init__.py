"""What a record of a session file is: all knowledge of the format."""

from typing import Final

TITLE_KEYS: Final = {
    "custom-title": "customTitle",
    "ai-title": "aiTitle",
    "agent-name": "agentName",
    "summary": "summary",
}
"""The record types that give a session a title, the best first, with the key of the title.

They are here because titles are also chosen where no line is decoded, and the decoder takes time to load.
"""
