"""Fits the model to pairs, with sentence-transformers' trainer and loss.

It trains two low-rank matrices beside each matrix of the model (LoRA), so that the result is small
without pruning. A batch holds pairs of one set, and each other right tool in it serves as another
negative.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from catalog.embedding.model_conversion import DOWN, UP
from lab.training._pairs import Pair

# Names of the model's linear layers; its pooler is not used.
LAYERS, UNUSED = ["query", "key", "value", "dense"], "pooler.*"


@dataclass(frozen=True, slots=True)
class Recipe:
    """Hyperparameters of the training.

    `longest` is in tokens. `most` limits the pairs of a set with messages of its own, `requests`
    those of a set with messages written for it.
    """

    seed: int = 7
    epochs: float = 1.0
    batch: int = 48
    learning_rate: float = 5e-4
    warm_up: float = 0.1
    scale: float = 20.0
    rank: int = 16
    alpha: float = 2.0
    longest: int = 56
    most: int = 1400
    requests: int = 8000
    threads: int = 2


def fit(
    model_folder: Path,
    pairs: Mapping[str, Sequence[Pair]],
    recipe: Recipe,
    work_folder: Path,
) -> dict[str, Any]:
    """Train, resuming from a checkpoint in the work folder; return the low-rank matrices."""
    # Imported here: it takes seconds and hundreds of megabytes, and only training needs it.
    import torch
    from datasets import Dataset
    from peft import LoraConfig
    from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    torch.manual_seed(recipe.seed)
    torch.set_num_threads(recipe.threads)
    model = SentenceTransformer(str(model_folder), device="cpu", local_files_only=True)
    model.max_seq_length = recipe.longest
    model.add_adapter(
        LoraConfig(
            r=recipe.rank,
            lora_alpha=recipe.rank * recipe.alpha,
            target_modules=LAYERS,
            exclude_modules=UNUSED,
        )
    )
    rows = {
        name: Dataset.from_list([asdict(pair) for pair in pairs_of_set])
        for name, pairs_of_set in pairs.items()
    }
    trainer = SentenceTransformerTrainer(
        model=model,
        args=_arguments(recipe, work_folder),
        train_dataset=rows,
        loss=MultipleNegativesRankingLoss(model, scale=recipe.scale),
    )
    resumes = any(work_folder.glob("checkpoint-*"))
    trainer.train(resume_from_checkpoint=resumes or None)
    return _low_rank_matrices(model[0].auto_model.state_dict(), recipe)


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
        bf16=True,  # halves the time; the figures stay the same
        save_steps=25,
        save_total_limit=1,
        logging_steps=10,
        report_to=[],
    )


def _low_rank_matrices(state: Mapping[str, Any], recipe: Recipe) -> dict[str, Any]:
    parts: dict[str, Any] = {}
    for name, weights in state.items():
        for suffix, role in ((".lora_A.default.weight", DOWN), (".lora_B.default.weight", UP)):
            if name.endswith(suffix):
                values = weights.detach().cpu().numpy() * np.sqrt(recipe.alpha)
                parts[f"{name.removesuffix(suffix)}.weight{role}"] = values.astype(np.float16)
    return parts
