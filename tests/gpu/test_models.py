"""Every module of the models gives on the device what it gives on the CPU, and so do its gradients."""

import contextlib
import copy
from dataclasses import fields, is_dataclass

import pytest
import torch
from transformers import AutoTokenizer

from training.baseline.module import BaselineModule
from training.data_module import BgrDataModule
from training.options import PrunerOptions
from training.reader.data import ReaderDataModule
from training.reader.module import ReaderModule
from training.retriever.module import BgrModule
from training.search.pruner import Pool, PrunerTraining

OURS = {"context_layers": 1, "words": True, "rows": 2, "links": 4, "numbers": True, "relevance": True}
OURS |= {"completeness": True, "prune": 3, "loss": "zlpr"}
FORMS = {
    "paper": {},
    "frozen": {"frozen_layers": 1, "width": 32},
    "ours": {**OURS, "frozen_layers": 1, "width": 64},
    "backward": {**OURS, "direction": "backward", "width": 64},
}
MODULES = [
    "Projection",
    "PathUpdate",
    "Attention",
    "FactRows",
    "Matcher",
    "TokenMatch",
    "TokenSimilarity",
    "TokenMarks",
]
MODULES += ["Links", "NumberMarks", "Context", "ContextLayer", "Completeness", "Pruner"]


def tensors(item):
    """The tensors of floats in a module's output, in order."""
    if isinstance(item, torch.Tensor):
        return [item.detach().cpu()] if item.is_floating_point() else []
    if is_dataclass(item):
        item = [getattr(item, one.name) for one in fields(item)]
    return [one for part in item for one in tensors(part)] if isinstance(item, list | tuple) else []


def recorded(module, batch):
    """Loss, outputs of each module by the name of its class, and gradients of a training step."""
    outputs = {}

    def note(part, _, found):
        outputs.setdefault(type(part).__name__, []).extend(tensors(found))

    hooks = [part.register_forward_hook(note) for part in module.model.modules()]
    module.zero_grad()
    loss = module.loss(batch)
    loss.backward()
    for hook in hooks:
        hook.remove()
    gradients = {n: p.grad.cpu() for n, p in module.named_parameters() if p.grad is not None}
    return loss.detach().cpu(), outputs, gradients


@pytest.fixture(scope="session")
def both(chosen, on_device, encoder_folder, toy_data, tmp_path_factory):
    """``both(module, data)``: what `recorded` gives on the CPU and on the device."""
    made = {}

    def run(name, make, data):
        if name not in made:
            torch.manual_seed(0)
            module = make()
            module.eval()
            data.prepare(AutoTokenizer.from_pretrained(encoder_folder), module.model, tmp_path_factory.mktemp("states"))
            batch = data.collate(data.splits["train"][:5])
            near = recorded(module, batch)
            # the stand-in for a GPU has no recurrent networks
            recurrent = chosen == "cpu" and name in ("grr", "ssg")
            with contextlib.nullcontext(torch.device("cpu")) if recurrent else on_device() as device:
                far = copy.deepcopy(module).to(device)
                made[name] = near, recorded(far, batch.to(device))
        return made[name]

    return run


@pytest.fixture
def retriever(both, encoder_folder, toy_data):
    return lambda form: both(
        form, lambda: BgrModule(str(encoder_folder), dropout=0.0, **FORMS[form]), BgrDataModule(str(toy_data))
    )


@pytest.mark.parametrize("form", FORMS)
def test_the_loss_and_all_gradients_of_a_retriever(retriever, close, form):
    (loss, _, gradients), (far_loss, _, far_gradients) = retriever(form)
    close(loss, far_loss)
    assert gradients.keys() == far_gradients.keys()
    for name in gradients:
        close(gradients[name], far_gradients[name], name)


@pytest.mark.parametrize("module", MODULES)
def test_each_module_of_a_retriever(retriever, close, module):
    near, far = (outputs[module] for _, outputs, _ in retriever("ours"))
    assert len(near) == len(far) > 0
    for one, other in zip(near, far, strict=True):
        close(one, other, module)


@pytest.mark.parametrize("kind", ["dpr", "grr", "mdr", "ssg"])
def test_a_baseline(both, close, encoder_folder, toy_data, kind):
    data = BgrDataModule(str(toy_data))
    (loss, outputs, gradients), far = both(kind, lambda: BaselineModule(str(encoder_folder), kind), data)
    close(loss, far[0])
    for name in outputs:
        for one, other in zip(outputs[name], far[1][name], strict=True):
            close(one, other, name)
    for name in gradients:
        close(gradients[name], far[2][name], name)


def test_the_training_of_a_pruner(on_device, close, make_retriever, tokenizer, tmp_path):
    """Its own loop, with its optimizer: the same weights after four steps, and the same recall."""

    def trained(device):
        model = make_retriever(prune=3)
        pruner = model.pruner.to(device)
        training = PrunerTraining(model.words.detach(), tokenizer, question_tokens=16, fact_tokens=16)
        texts = ["Paris lies in France .", "Rome lies in Italy .", "Persona was made in Sweden .", "Radium ."]
        pools = [Pool(f"Where is {name} ?", texts, len(texts), {n: n}) for n, name in enumerate(("Paris", "Rome"))]
        folders = {"checkpoint": tmp_path, "data": tmp_path, "collection": tmp_path, "out": tmp_path}
        options = PrunerOptions(**folders, batch_size=2, candidates=3, epochs=4.0)
        training.fit(pruner, pools, options)
        return [p.detach().cpu() for p in pruner.parameters()], training.recall(pruner, pools)

    near = trained(torch.device("cpu"))
    with on_device() as device:
        far = trained(device)
    for one, other in zip(near[0], far[0], strict=True):
        close(one, other)
    assert near[1] == far[1]


def test_an_extractive_reader(both, close, encoder_folder, toy_data):
    data = ReaderDataModule(str(toy_data), noise=0.0)
    data.setup()

    def make():
        module = ReaderModule(str(encoder_folder), width=64, layers=1)
        module.start(*data.lists())
        return module

    (loss, outputs, gradients), far = both("reader", make, data)
    close(loss, far[0])
    for name in outputs:
        for one, other in zip(outputs[name], far[1][name], strict=True):
            close(one, other, name)
    for name in gradients:
        close(gradients[name], far[2][name], name)
