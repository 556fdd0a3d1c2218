"""Tests: each names a rule in one plain sentence."""
