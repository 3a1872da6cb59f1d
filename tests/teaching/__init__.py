"""Tests of teaching: proposals, decisions, what is learned from them, and who may."""
