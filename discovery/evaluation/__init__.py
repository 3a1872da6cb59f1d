"""Evaluation on labelled sets: the sets, the scores, and training the encoder on them."""

__all__ = ["labelled_evaluation", "labelled_sets", "scores", "training"]
