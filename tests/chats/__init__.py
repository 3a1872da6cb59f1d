"""Tests of chats with a model: the providers' APIs, the loop of calls, models and pages."""
