"""Benchmarks: ratios to references measured in the same run."""
