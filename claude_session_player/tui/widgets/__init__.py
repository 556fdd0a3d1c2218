"""Widgets of the full-screen programs."""
