"""Fits the model to pairs, by sentence-transformers' own trainer and loss.

A batch holds pairs of one set, and every other right tool in it is one more wrong one. The token
table is left alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from discovery.training.pairs import Pair

LONGEST = 96  # tokens; few texts have more, and they cost the most


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the model is fitted."""

    seed: int = 7
    epochs: float = 1.0
    batch: int = 48
    learning_rate: float = 3e-5
    warm_up: float = 0.1
    scale: float = 20.0
    threads: int = 2


def fit(
    model_folder: Path, pairs: Mapping[str, Sequence[Pair]], recipe: Recipe, work_folder: Path
) -> Any:
    """A trained SentenceTransformer. What has been done before in the folder is gone on with."""
    # It takes seconds and hundreds of megabytes, and only training wants it.
    import torch
    from datasets import Dataset
    from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    torch.set_num_threads(recipe.threads)
    model = SentenceTransformer(str(model_folder), device="cpu", local_files_only=True)
    model.max_seq_length = LONGEST
    for weights in model[0].auto_model.embeddings.parameters():
        weights.requires_grad = False
    rows = {
        name: Dataset.from_list([asdict(pair) for pair in each]) for name, each in pairs.items()
    }
    trainer = SentenceTransformerTrainer(
        model=model,
        args=_arguments(recipe, work_folder),
        train_dataset=rows,
        loss=MultipleNegativesRankingLoss(model, scale=recipe.scale),
    )
    begun = any(work_folder.glob("checkpoint-*"))
    trainer.train(resume_from_checkpoint=begun or None)
    return model


def _arguments(recipe: Recipe, work_folder: Path) -> Any:
    from sentence_transformers import SentenceTransformerTrainingArguments
    from sentence_transformers.base.sampler import BatchSamplers, MultiDatasetBatchSamplers

    return SentenceTransformerTrainingArguments(
        output_dir=str(work_folder),
        num_train_epochs=recipe.epochs,
        per_device_train_batch_size=recipe.batch,
        learning_rate=recipe.learning_rate,
        warmup_steps=recipe.warm_up,
        batch_sampler=BatchSamplers.NO_DUPLICATES,
        multi_dataset_batch_sampler=MultiDatasetBatchSamplers.PROPORTIONAL,
        seed=recipe.seed,
        data_seed=recipe.seed,
        use_cpu=True,
        save_steps=50,
        save_total_limit=1,
        logging_steps=10,
        report_to=[],
    )
