// One result: the answer, the graph in its views, why, the candidates, and ways to keep them.

import { candidateList } from "./candidates.js";
import { el, probability } from "./dom.js";
import { STATES, drawGraph, focusNode } from "./graph.js";
import { ROOT } from "./layout.js";
import { toPng } from "./picture.js";
import { segments } from "./text.js";
import { chains, edgesOf, foundFrom, reasons, textsOf, withoutAnswer } from "./why.js";

const VIEWS = [
  ["graph", "Evidence", "Evidence graph, both directions merged"],
  ["forward", "Forward", "Graph of the forward direction"],
  ["backward", "Backward", "Graph of the backward direction"],
  ["gold", "Gold", "Gold graph of the example"],
];

let results = 0; // ids of the parts must differ between results

/** The element of a result. `notify` gets lines for the screen reader. */
export function resultCard(response, notify) {
  const id = `result-${(results += 1)}`;
  return el(
    "article",
    { class: "card result", "aria-label": `Result of ${response.system}` },
    el("header", { class: "result-head" }, el("h2", {}, response.system), took(response)),
    answerBlock(response),
    new Graphs(response, id, notify).element,
    whyBlock(response),
    candidateList(response),
    keepBlock(response, id, notify),
  );
}

function took({ milliseconds }) {
  const total = milliseconds.waited + milliseconds.answered;
  return el("span", { class: "hint" }, total < 1000 ? `${Math.round(total)} ms` : `${(total / 1000).toFixed(1)} s`);
}

function answerBlock(response) {
  const none = withoutAnswer(response);
  const block = el("div", { class: "answer" }, el("p", { class: none ? "headline none" : "headline", dir: "auto" }, none ?? response.answer));
  const figures = [
    ["Confidence", response.answer === null ? null : response.confidence, "probability that the answer is right"],
    ["Completeness", response.count ? response.completeness : null, "probability that the candidates hold all of the evidence"],
    ["Agreement", response.agreement, "how much of the graphs of both directions is the same"],
  ];
  const shown = figures.filter(([, value]) => value !== null);
  block.append(
    el("dl", { class: "figures" }, shown.map(([name, value, meaning]) =>
      el("div", { title: meaning }, el("dt", {}, name), el("dd", {}, probability(value), el("meter", { min: 0, max: 1, value, "aria-label": `${name}: ${meaning}` }))),
    )),
  );
  if (response.gold_answer !== null) {
    block.append(el("p", { class: "hint" }, "Gold answer: ", el("strong", { dir: "auto" }, response.gold_answer || "none, not answerable")));
  }
  return block;
}

class Graphs {
  constructor(response, id, notify) {
    this.response = response;
    this.notify = notify;
    this.views = VIEWS.filter(([name]) => response[name]);
    this.view = "graph";
    this.differences = true;
    this.texts = textsOf(response);
    const chain = chains(response);
    this.chain = edgesOf(chain);
    this.answers = new Set([...response.spans.map((span) => span.fact), ...response.support]);
    this.scroller = el("div", { class: "scroller", id: `${id}-drawing`, role: this.views.length > 1 ? "tabpanel" : false });
    this.details = el("div", { class: "details", "aria-live": "polite", hidden: true, keydown: (event) => event.key === "Escape" && this.close() });
    this.tabs = this.views.map(([name, label]) =>
      el("button", { type: "button", role: "tab", id: `${id}-${name}`, "aria-controls": `${id}-drawing`, click: () => this.show(name) },
        label, el("small", {}, ` ${response[name].nodes.length}`)));
    this.legend = el("p", { class: "legend" });
    this.element = el("figure", { class: "graphs", keydown: (event) => event.key === "Escape" && this.close() },
      this.views.length > 1 && el("div", { class: "tabs", role: "tablist", "aria-label": "Graphs", keydown: (event) => this.turn(event) }, this.tabs),
      response.gold && el("label", { class: "check" }, el("input", { type: "checkbox", checked: true, change: (event) => this.mark(event.target.checked) }), "mark differences from gold"),
      this.scroller, this.legend, this.details);
    this.width = 0;
    new ResizeObserver(() => requestAnimationFrame(() => this.resized())).observe(this.scroller);
    this.select();
  }

  show(name) {
    this.view = name;
    this.close();
    this.select();
    this.draw();
  }

  mark(differences) {
    this.differences = differences;
    this.draw();
  }

  select() {
    this.views.forEach(([name], at) => {
      this.tabs[at].setAttribute("aria-selected", name === this.view);
      this.tabs[at].setAttribute("tabindex", name === this.view ? 0 : -1);
      if (name === this.view && this.views.length > 1) this.scroller.setAttribute("aria-labelledby", this.tabs[at].id);
    });
  }

  turn(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = this.views.findIndex(([name]) => name === this.view);
    const next = (at + step + this.views.length) % this.views.length;
    this.show(this.views[next][0]);
    this.tabs[next].focus();
  }

  resized() {
    if (!this.scroller.isConnected || this.scroller.clientWidth === this.width) return;
    const focused = this.scroller.contains(document.activeElement) ? Number(document.activeElement.dataset.node) : null;
    this.draw();
    if (focused !== null) focusNode(this.svg, focused);
  }

  draw() {
    this.width = this.scroller.clientWidth;
    if (!this.width) return;
    const { response } = this;
    const graph = response[this.view];
    const gold = this.differences && this.view !== "gold" ? response.gold : null;
    this.svg = null;
    if (!graph.edges.length && !gold?.edges.length) {
      this.legend.replaceChildren();
      this.scroller.replaceChildren(el("p", { class: "empty" }, "This graph is empty."));
      return;
    }
    const title = VIEWS.find(([name]) => name === this.view)[2];
    this.svg = drawGraph(
      this.scroller,
      { question: response.question, graph, gold, title, texts: this.texts, spans: response.spans, answers: this.answers, chain: this.chain },
      (node) => this.open(node),
    );
    const states = gold ? Object.entries(STATES).filter(([, text]) => text) : [];
    this.legend.replaceChildren(...states.map(([state, text]) => el("span", {}, el("i", { class: `swatch ${state}` }), text)));
  }

  open(node) {
    const { response } = this;
    const spans = response.spans.filter((span) => span.fact === node);
    const candidate = response.candidates.find((one) => one.number === node);
    const text = node === ROOT ? response.question : (candidate?.text ?? "");
    const lines = node === ROOT ? [] : [foundFrom(response[this.view], node), candidate?.id && `document ${candidate.id}`, candidate?.title && `title ${candidate.title}`];
    this.opened = node;
    this.details.hidden = false;
    this.details.replaceChildren(
      el("button", { type: "button", class: "close", "aria-label": "Close the details", click: () => this.close() }, "×"),
      el("strong", {}, node === ROOT ? "Question" : `Fact ${node}`),
      el("p", { dir: "auto" }, marked(text, spans)),
      el("p", { class: "hint" }, lines.filter(Boolean).join(" · ")),
    );
  }

  close() {
    if (this.details.hidden) return;
    this.details.hidden = true;
    if (this.svg) focusNode(this.svg, this.opened);
  }
}

/** A text with the spans as <mark>. */
const marked = (text, spans) => segments(text, spans).map((part) => (part.marked ? el("mark", {}, part.text) : part.text));

function whyBlock(response) {
  const texts = textsOf(response);
  const steps = response.graph.nodes.map((fact) =>
    el("li", {}, el("b", {}, `Fact ${fact}`), ": ",
      el("span", { dir: "auto" }, marked(texts.get(fact) ?? "", response.spans.filter((span) => span.fact === fact))),
      el("span", { class: "hint" }, ` ${foundFrom(response.graph, fact)}`)));
  const found = chains(response).map((chain) => el("p", { class: "chain" }, ["question", ...chain.map((fact) => `fact ${fact}`), "answer"].join(" → ")));
  return el("section", { class: "why", "aria-label": "Why" }, el("h3", {}, "Why"),
    reasons(response).map((line) => el("p", { dir: "auto" }, line)),
    response.answer !== null && found,
    steps.length > 0 && el("h4", {}, "Evidence in the order of reasoning"),
    steps.length > 0 && el("ol", { class: "evidence" }, steps));
}

function keepBlock(response, id, notify) {
  const stem = `bgr-${response.system}`.replace(/[^\w-]/g, "_");
  const json = () => save(new Blob([`${JSON.stringify(response, null, 2)}\n`], { type: "application/json" }), `${stem}.json`);
  const png = async () => {
    const graph = document.getElementById(`${id}-drawing`)?.querySelector("svg");
    if (!graph) return notify("There is no graph to save.");
    try {
      return save(await toPng(graph), `${stem}.png`);
    } catch (error) {
      return notify(`The picture cannot be saved: ${error.message}.`);
    }
  };
  return el("div", { class: "actions keep" },
    el("button", { type: "button", click: json }, "Save JSON"),
    el("button", { type: "button", click: png }, "Save PNG of the graph"));
}

function save(blob, filename) {
  const url = URL.createObjectURL(blob);
  el("a", { href: url, download: filename }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
