"""What belongs to what: one owner for each rule, which every command asks.

`pairing` knows which call a result belongs to, `subagents` which call started a sub-agent (`agent_records` reads the
evidence from records), `copies` which records repeat earlier ones, `titles` what a session is called, and `prompts`
what a person typed.
"""
