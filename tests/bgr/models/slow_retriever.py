"""The model's definition, written plainly: one question, one path, one fact at a time, no padding, nothing shared."""

import math

import torch
import torch.nn.functional as F


def attention(module, queries, states):
    """Scaled dot-product attention with explicit loops over heads and rows. ``[s, d]``, ``[t, d]`` → ``[s, d]``."""
    width = queries.shape[-1]
    size = width // module.heads
    q, k, v = module.query(queries), module.key(states), module.value(states)
    out = torch.zeros_like(q)
    for head in range(module.heads):
        part = slice(head * size, (head + 1) * size)
        for i in range(len(queries)):
            weights = torch.stack([q[i, part] @ k[j, part] / math.sqrt(size) for j in range(len(states))]).softmax(0)
            out[i, part] = sum(weights[j] * v[j, part] for j in range(len(states)))
    return module.out(out)


def sentence(model, ids):
    return model.encoder.bert(torch.tensor([ids])).last_hidden_state[0]


def summary_rows(model, states):
    part = model.fact_rows
    asked = torch.stack([states[0] + seed for seed in part.seeds])
    return part.norm(asked + attention(part.attention, asked, states))


def extend(model, path, fact):
    part = model.update
    state = part.norms[0](path + attention(part.own, path, path))
    state = part.norms[1](state + attention(part.fact, state, fact))
    state = part.norms[2](state + part.feed(state))
    gate = part.gate(torch.cat([path, state], dim=-1)).sigmoid()
    return part.norms[3](path + gate * state)


def logit(model, path, candidate):
    """Is the sentence with token states `candidate` next after the path with state `path`?"""
    part = model.matcher
    rows = summary_rows(model, candidate)
    seen = attention(part.attention, rows, path)
    hidden = F.gelu(part.of_fact(rows) + part.of_path(seen) + part.of_both(rows * seen))
    return part.out(hidden.flatten()).squeeze()
