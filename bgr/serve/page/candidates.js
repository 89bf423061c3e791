// The candidates of a question, best first, with their part in the graphs.

import { count, el } from "./dom.js";

const PAGE = 50; // candidates that are added at once

/** A closed list, filled when it is opened. */
export function candidateList(response) {
  const { candidates, graph } = response;
  const list = el("ol", { class: "candidates" });
  const more = el("button", { type: "button", click: () => add() }, "Show more");
  const parts = partsOf(response);
  const add = () => {
    const start = list.children.length;
    list.append(...candidates.slice(start, start + PAGE).map((one) => item(one, parts.get(one.number) ?? [])));
    const left = candidates.length - list.children.length;
    more.textContent = `Show ${Math.min(left, PAGE)} more of ${count(left)}`;
    more.hidden = !left;
  };
  const toggle = (event) => event.target.open && !list.children.length && add();
  return el("details", { class: "candidates-box", toggle }, el("summary", {}, headline(response, graph)), list, more);
}

function headline({ source, candidates, count: all }, graph) {
  const used = `${count(graph.nodes.length)} in the graph`;
  if (source === "collection") return `Candidates in the order of the search: ${count(all)}, ${used}`;
  if (candidates.length < all) return `Facts: ${count(all)}, ${used}; listed are the ${count(candidates.length)} of any direction`;
  return `Candidates: ${count(all)}, ${used}`;
}

/** Number of a fact → words for its part. */
function partsOf({ graph, forward, backward, gold, spans, support }) {
  const parts = new Map();
  const put = (numbers, word) => numbers.forEach((number) => parts.set(number, [...(parts.get(number) ?? []), word]));
  const merged = new Set(graph.nodes);
  put(graph.nodes, "in the graph");
  put((forward?.nodes ?? []).filter((node) => !merged.has(node)), "forward");
  put((backward?.nodes ?? []).filter((node) => !merged.has(node)), "backward");
  put(gold?.nodes ?? [], "gold");
  put([...new Set([...spans.map((span) => span.fact), ...support])], "answer");
  return parts;
}

function item({ number, text, id, title }, parts) {
  const source = [id, title].filter(Boolean).join(" · ");
  return el("li", { class: parts.includes("in the graph") ? "used" : "" },
    el("span", { class: "number" }, `${number}`),
    el("span", { class: "body" }, el("span", { dir: "auto" }, text), source && el("span", { class: "hint" }, ` ${source}`)),
    el("span", { class: "parts" }, parts.map((part) => el("span", { class: "badge" }, part))));
}
