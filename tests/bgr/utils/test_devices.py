import copy

import torch

from bgr.models.ragged import Rows
from bgr.utils.devices import autocast, hold_in

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
