"""Tests of chat applications."""
