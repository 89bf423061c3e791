// Why an answer was given, in plain words. Functions of the server's response alone.

import { plural, probability } from "./dom.js";
import { ROOT } from "./layout.js";
import { slice } from "./text.js";

const MAX_CHAINS = 4;

/** Texts of the candidates by their numbers. */
export const textsOf = (response) => new Map(response.candidates.map((one) => [one.number, one.text]));

/** Sentences: where the answer was read, and how sure each part is. */
export function reasons(response) {
  return [origin(response), completeness(response), agreement(response), ...response.warnings.map(warning)].filter(Boolean);
}

/** The headline of a result without an answer; null if there is one. */
export function withoutAnswer(response) {
  if (response.answer !== null) return null;
  if (!response.count) return "Nothing found";
  if (!response.has_reader) return response.graph.nodes.length ? "Evidence alone" : "No evidence found";
  return "Not answerable";
}

function origin(response) {
  if (response.answer !== null) return readIn(response);
  if (!response.count) return "No text of the collection fits the question.";
  if (!response.has_reader) return "This system finds evidence, and has no reader that answers from it.";
  const directed = [response.forward, response.backward].some((graph) => graph?.nodes.length);
  if (response.graph.nodes.length) return "Evidence was found, but no answer can be read in it.";
  if (directed) return "What both directions found does not seem to be all of the evidence, so it was set aside; their graphs are shown.";
  return "None of the candidates was found to be evidence for the question.";
}

function readIn(response) {
  const { answer, spans, support } = response;
  const texts = textsOf(response);
  const read = [...new Set(spans.map((span) => slice(texts.get(span.fact) ?? "", span.start, span.end)))];
  const facts = list([...new Set([...spans.map((span) => span.fact), ...support])].map(name));
  if (!facts) return `The answer “${answer}” follows from the evidence as a whole.`;
  if (read.includes(answer)) return `The answer “${answer}” was read in ${facts}.`;
  if (read.length) return `The answer “${answer}” was worked out from ${list(read.map((one) => `“${one}”`))} in ${facts}.`;
  return `The answer “${answer}” comes from ${facts}.`;
}

function completeness({ completeness: value, count }) {
  if (value === null || !count) return null;
  return `The candidates hold all of the evidence with probability ${probability(value)}.`;
}

function agreement({ agreement: value, forward, backward }) {
  if (value === null || !(forward?.edges.length || backward?.edges.length)) return null;
  if (value >= 1) return "Both directions found the same graph.";
  return `The graphs of both directions agree by ${probability(value)} (1 is the same graph, 0 nothing in common).`;
}

const warning = (text) => `Take care: ${text.replace(/\.$/, "")}.`;

export const name = (fact) => (fact === ROOT ? "the question" : `fact ${fact}`);

function list(words) {
  return words.length > 2 ? `${words.slice(0, -1).join(", ")} and ${words.at(-1)}` : words.join(" and ");
}

/** The chains from the question to the facts that give the answer: lists of numbers without the question. */
export function chains(response) {
  const { graph, support, spans } = response;
  const before = grouped(graph.edges.map((edge) => [edge.target, edge.source]));
  const ends = [...new Set([...spans.map((span) => span.fact), ...support])].filter((fact) => graph.nodes.includes(fact));
  const found = [];
  const walk = (fact, chain) => {
    if (found.length >= MAX_CHAINS) return;
    if (fact === ROOT) found.push(chain);
    else for (const other of before.get(fact) ?? []) walk(other, [fact, ...chain]);
  };
  for (const end of ends) walk(end, []);
  return found;
}

/** Edges on the chains, as "source>target". */
export function edgesOf(chainsOfNumbers) {
  return new Set(chainsOfNumbers.flatMap((chain) => chain.map((fact, at) => `${at ? chain[at - 1] : ROOT}>${fact}`)));
}

/** How a fact was found, such as "from the question, 0.97". */
export function foundFrom(graph, fact) {
  const edges = graph.edges.filter((edge) => edge.target === fact);
  const parts = edges.map((edge) => (edge.score === null ? name(edge.source) : `${name(edge.source)} (${probability(edge.score)})`));
  return parts.length ? `found from ${list(parts)}` : "";
}

function grouped(pairs) {
  const groups = new Map();
  for (const [key, value] of pairs) groups.set(key, [...(groups.get(key) ?? []), value]);
  return groups;
}

/** One line for screen readers. */
export function summary(response) {
  const facts = plural(response.graph.nodes.length, "fact");
  const answer = response.answer === null ? withoutAnswer(response) : `Answer: ${response.answer}`;
  return `${answer}. ${facts} of evidence.`;
}
