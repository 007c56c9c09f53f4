"""Benchmarks: programs that measure, and keep every run in bench/results. No test depends on a time measured here."""
