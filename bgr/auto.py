"""One direction of a checkpoint through `AutoConfig` and `AutoModel` of transformers, once this module is imported.

```python
import bgr.auto
from transformers import AutoModel

forward = AutoModel.from_pretrained("checkpoints/atlas/forward")
forward = AutoModel.from_pretrained("owner/name", subfolder="forward")
```

A direction needs the layers that both directions share, which are in the checkpoint's own folder above it
(`bgr.retrievers.graph_hop.checkpoint`).
"""

from __future__ import annotations

from typing import Any

from transformers import AutoConfig, AutoModel

from bgr.errors import CheckpointError
from bgr.models.checkpoint import shared_tensors
from bgr.models.config import BgrConfig
from bgr.models.loading import read_config
from bgr.models.ragged import Rows
from bgr.models.retriever import BgrRetriever, EncodedBatch
from bgr.retrievers.graph_hop.checkpoint import load_model
from bgr.retrievers.graph_hop.hub import find_checkpoint

HUB_OPTIONS = ("revision", "token", "cache_dir", "local_files_only")

PASSED_ON = ("trust_remote_code", "adapter_kwargs")
"""Options that `AutoModel` passes on although they concern only code and adapters, which a checkpoint has not."""


class BgrAutoModel(BgrRetriever):
    """`BgrRetriever` as `AutoModel` loads it; calling it is `encode_batch`."""

    def forward(self, questions: Rows, facts: Rows, candidates: Any) -> EncodedBatch:
        return self.encode_batch(questions, facts, candidates)

    @classmethod
    def from_pretrained(  # type: ignore[override]  # fewer options
        cls, name: Any, *args: Any, config: BgrConfig | None = None, **options: Any
    ) -> Any:
        """Load a direction in evaluation mode and float32.

        Args:
            name: folder of a direction, or a checkpoint, a folder or ``owner/name``, with `subfolder`.
            config: in place of that of the folder.
            options: ``subfolder``, and those of the Hub (`bgr.retrievers.graph_hop.hub.download`).

        Raises:
            CheckpointError: as `load_retriever` and `find_checkpoint`, or an option is unknown.
        """
        if name is None:  # the weights are given
            return super().from_pretrained(None, *args, config=config, **options)
        part = options.pop("subfolder", "")
        for key in PASSED_ON:
            options.pop(key, None)
        hub = {key: options.pop(key) for key in HUB_OPTIONS if key in options}
        if args or options:
            raise CheckpointError(
                f"{name}: unknown option {', '.join(options) or args}, allowed: subfolder, {', '.join(HUB_OPTIONS)}"
            )
        home = find_checkpoint(str(name), **hub) / part
        checked = read_config(home / "config.json", BgrConfig)
        return load_model(home, config or checked, shared_tensors(home.parent), cls)


AutoConfig.register(BgrConfig.model_type, BgrConfig, exist_ok=True)
AutoModel.register(BgrConfig, BgrAutoModel, exist_ok=True)
