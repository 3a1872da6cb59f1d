"""From labelled sets to an adapter: pairs, fitting, and what of the change is kept."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from catalog.embedding.adapter import Weights, difference
from catalog.embedding.base import Embedder
from catalog.embedding.convert import read_weights, source_folder
from discovery.training.fitting import Recipe, fit
from discovery.training.pairs import TrainingSet, pairs_of


def train_adapter(
    sets: Sequence[TrainingSet], base: Embedder, recipe: Recipe, work_folder: Path
) -> Weights:
    """What the base model's weights need to choose tools better. `work_folder` keeps how far the
    training is, so that it can be stopped and gone on with."""
    pairs = {each.name: pairs_of(each, base, seed=recipe.seed) for each in sets}
    trained = fit(source_folder(), pairs, recipe, work_folder)
    return difference(read_weights(source_folder() / "model.safetensors"), _weights_of(trained))


def _weights_of(model: Any) -> dict[str, Any]:
    """Its weights by the names of the base model's file."""
    state = model[0].auto_model.state_dict()
    return {name: weights.detach().cpu().numpy() for name, weights in state.items()}
