"""Tests of `redact`."""
