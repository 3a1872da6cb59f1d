"""Evaluation on labelled sets: the sets, the scores, and training the encoder on them."""
