"""The model's definition, written plainly: one question, one path, one fact at a time, no padding, nothing shared."""

import math

import torch
import torch.nn.functional as F


def attend(q, k, v, heads):
    """Scaled dot-product attention with explicit loops over heads and rows. ``[s, d]``, ``[t, d]`` → ``[s, d]``."""
    size = q.shape[-1] // heads
    out = torch.zeros_like(q)
    for head in range(heads):
        part = slice(head * size, (head + 1) * size)
        for i in range(len(q)):
            weights = torch.stack([q[i, part] @ k[j, part] / math.sqrt(size) for j in range(len(k))]).softmax(0)
            out[i, part] = sum(weights[j] * v[j, part] for j in range(len(k)))
    return out


def attention(module, queries, states):
    key, value = module.key_value(states).chunk(2, dim=-1)
    return module.out(attend(module.query(queries), key, value, module.heads))


def sentence(model, ids):
    return model.project(model.encoder.bert(torch.tensor([ids])).last_hidden_state[0])


def summary_rows(model, states):
    """The whole self-attention layer with its keys and values of all tokens."""
    part = model.fact_rows
    asked = torch.stack([states[0] + seed for seed in part.seeds])
    seen = attend(part.query(asked), part.key(states), part.value(states), part.heads)
    return part.norm(asked + part.out(seen))


def extend(model, path, fact):
    part = model.update
    state = part.norms[0](path + attention(part.own, path, path))
    state = part.norms[1](state + attention(part.fact, state, fact))
    state = part.norms[2](state + part.feed(state))
    gate = part.gate(torch.cat([path, state], dim=-1)).sigmoid()
    return part.norms[3](path + gate * state)


def matched(part, head, cosine):
    return 4 * torch.sigmoid(part.matched.sharpness[head] * (cosine.relu() - part.matched.middle[head])) - 2


def marks(part, tokens, question):
    """What is added to each token: how well it is matched by the question, or, one of the question's, by the facts."""
    size = part.project.out_features // part.heads
    rows = []
    for i in range(len(tokens)):
        others = range(question, len(tokens)) if i < question else range(question)
        found = []
        for head in range(part.heads):
            one = part.project(tokens)[:, head * size : (head + 1) * size]
            best = torch.stack([F.cosine_similarity(one[i], one[j], dim=0) for j in others]).max()
            found.append(matched(part, head, best))
        rows.append(part.mark(torch.stack(found)))
    return torch.stack(rows)


def in_context(model, question, facts):
    """The question's and its candidates' states after every token of them has looked at every other."""
    sizes = [len(question), *map(len, facts)]
    if model.context is None:
        return question, facts
    kinds = [model.context.kind.weight[min(i, 1)] for i in range(len(sizes))]
    tokens = torch.cat([rows + kind for rows, kind in zip([question, *facts], kinds, strict=True)])
    tokens = tokens + marks(model.context.marks, tokens, sizes[0])
    for layer in model.context.layers:
        normed = layer.norms[0](tokens)
        tokens = tokens + attention(layer.attention, normed, normed)
        tokens = tokens + layer.feed(layer.norms[1](tokens))
    parts = model.context.norm(tokens).split(sizes)
    return parts[0], list(parts[1:])


def token_features(part, candidate, other):
    """For every head and weighting: the candidate's tokens matched by the other side, then the other way round."""
    weights, other_weights = part.fact_weight(candidate).softmax(0), part.path_weight(other).softmax(0)
    size = part.fact.out_features // part.heads
    forth, back = [], []
    for head in range(part.heads):
        one = part.fact(candidate)[:, head * size : (head + 1) * size]
        two = part.path(other)[:, head * size : (head + 1) * size]
        cosines = torch.stack([torch.stack([F.cosine_similarity(u, v, dim=0) for v in two]) for u in one])
        for k in range(weights.shape[1]):
            forth.append(sum(weights[i, k] * matched(part, head, cosines[i].max()) for i in range(len(one))))
            back.append(sum(other_weights[j, k] * matched(part, head, cosines[:, j].max()) for j in range(len(two))))
    return torch.stack(forth + back)


def logit(model, path, last, candidate, *, is_root):
    """Is the sentence with token states `candidate` next after the path with state `path` and last fact `last`?"""
    part = model.matcher
    rows = summary_rows(model, candidate)
    key, value = part.key_value(path).chunk(2, dim=-1)
    seen = attend(part.query(rows), key, value, part.heads)
    hidden = F.gelu(part.of_fact(rows) + part.of_path(torch.cat([seen, part.gate(rows) * seen], dim=-1)))
    with_path = token_features(model.to_path, candidate, path)
    none = torch.zeros(model.to_last.features)
    with_last = none if last is None else token_features(model.to_last, candidate, last)
    relevant = torch.zeros(1) if is_root else model.relevance(rows.flatten())
    return part.out(torch.cat([hidden.flatten(), with_path, with_last, relevant])).squeeze()
