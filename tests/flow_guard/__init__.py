"""Tests of the guard on flows."""
