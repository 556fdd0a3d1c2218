"""What belongs to what: one owner for each rule, which every command asks.

`pairing` knows which call a result answers, `subagents` which call a sub-agent comes from, `copies` what was written
before, `titles` what a session is called, and `prompts` what a person typed.
"""
