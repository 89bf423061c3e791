import copy
import resource
from pathlib import Path

import pytest
import torch

from bgr.errors import BgrError
from bgr.models.ragged import Rows
from bgr.utils.devices import ADDRESSES, autocast, check_addresses, hold_in, pick_device

CPU = torch.device("cpu")
QUESTIONS, FACTS = Rows.from_lists([[2, 7, 8, 3]]), Rows.from_lists([[2, 7, 9, 10, 3], [2, 11, 3]])


@torch.inference_mode()
def test_weights_held_in_bfloat16_change_no_bit(make_retriever):
    model = make_retriever(context_layers=1, width=24)
    held = copy.deepcopy(model)
    hold_in(held, "bf16")
    assert held.project.states.weight.dtype == torch.bfloat16
    logits = []
    for one in (model, held):
        with autocast(CPU, "bf16"):
            encoded = one.encode_batch(QUESTIONS, FACTS, torch.tensor([[0, 1]]))
            paths = one.extend(encoded, one.start(encoded), torch.tensor([0]), torch.tensor([2]))
            logits.append(one.match(encoded, paths))
    assert torch.equal(*logits)


def test_weights_stay_as_they_are_in_float32(make_retriever):
    model = make_retriever()
    hold_in(model, "32")
    assert {weight.dtype for weight in model.parameters()} == {torch.float32}


def test_a_model_is_refused_where_few_addresses_are_left(monkeypatch):
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    for left, refused in ((ADDRESSES + (64 << 20), False), (ADDRESSES - (64 << 20), True), (-1, True)):
        check_addresses.cache_clear()
        monkeypatch.setattr(resource, "getrlimit", lambda kind, limit=used + left: (limit, resource.RLIM_INFINITY))
        if refused:
            with pytest.raises(BgrError, match=r"MiB of addresses are left.* 320 at least; raise the limit"):
                pick_device("cpu")
        else:
            pick_device("cpu")
