// The evidence graph as SVG: boxes with facts in layers from the question on, the reader's spans marked.

import { plural, probability, svg } from "./dom.js";
import { ROOT, layOut } from "./layout.js";
import { slice, wrap } from "./text.js";
import { name } from "./why.js";

const NARROW = 680; // pixels; below, layers run from top to bottom
const PAD = 9;
const LINE = 17;
const MAX_LINES = 7;
const MARGIN = 6;
const HEAD = 7; // length of an arrow's head
const FONT = "13px system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif"; // as in graph.css

const context = document.createElement("canvas").getContext("2d");

function measure(text) {
  context.font = FONT;
  return context.measureText(text).width;
}

/** What an edge or a fact is beside the gold graph. */
export const STATES = { plain: "", right: "as in gold", wrong: "not in gold", missed: "only in gold" };

const key = (edge) => `${edge.source}>${edge.target}`;

/** Edges with their states: those of the graph, and with a gold graph those that it misses. */
export function withStates(graph, gold) {
  if (!gold) return graph.edges.map((edge) => ({ ...edge, state: "plain" }));
  const golden = new Set(gold.edges.map(key));
  const own = new Set(graph.edges.map(key));
  return [
    ...graph.edges.map((edge) => ({ ...edge, state: golden.has(key(edge)) ? "right" : "wrong" })),
    ...gold.edges.filter((edge) => !own.has(key(edge))).map((edge) => ({ ...edge, score: null, state: "missed" })),
  ];
}

/**
 * Draw a graph into a container of which the width counts.
 *
 * @param view {question, graph, gold, texts, spans, answers: Set of facts, chain: Set of "source>target", title}
 * @param onOpen called with a number when a box is clicked, or Enter is pressed on it.
 * @returns the SVG element.
 */
export function drawGraph(container, view, onOpen) {
  const padding = 2 * parseFloat(getComputedStyle(container).paddingLeft);
  const width = container.clientWidth - padding - 2 * MARGIN;
  const down = width < NARROW;
  const edges = withStates(view.graph, view.gold);
  const boxWidth = widthOfBoxes(edges, width, down);
  const contents = new Map();
  const size = (node) => {
    if (!contents.has(node)) contents.set(node, content(node, view, edges, boxWidth));
    return contents.get(node);
  };
  const picture = layOut(edges, size, { down, gaps: down ? { layer: 40, node: 12 } : { layer: 62, node: 14 } });
  const [w, h] = [picture.width + 2 * MARGIN, picture.height + 2 * MARGIN];
  const root = svg("svg", {
    class: "graph", role: "group", width: w, height: h, viewBox: `${-MARGIN} ${-MARGIN} ${w} ${h}`,
    "aria-label": `${view.title}: ${plural(picture.boxes.size - 1, "fact")}, ${plural(edges.length, "edge")}. Arrow keys move.`,
  });
  root.append(...picture.arrows.map((one) => arrow(one, edges, view, down)));
  const order = [...picture.boxes.keys()].sort((a, b) => {
    const [one, other] = [picture.boxes.get(a), picture.boxes.get(b)];
    return one.layer - other.layer || one.place - other.place;
  });
  for (const node of order) root.append(box(node, picture.boxes.get(node), contents.get(node), view, onOpen));
  root.addEventListener("keydown", (event) => move(event, root, picture.boxes, edges, down));
  container.replaceChildren(root);
  return root;
}

/** The width with which the widest layer fits, or all layers next to each other. */
function widthOfBoxes(edges, width, down) {
  const trial = layOut(edges, () => ({ width: 1, height: 1 }), { down, gaps: { layer: 1, node: 1 } });
  const layers = [...trial.boxes.values()].map((one) => one.layer);
  const sizes = layers.reduce((sum, layer) => sum.set(layer, (sum.get(layer) ?? 0) + 1), new Map());
  const [columns, gap] = down ? [Math.max(...sizes.values()), 12] : [sizes.size, 62];
  const [low, high] = down ? [124, 320] : [150, 270];
  return Math.max(low, Math.min(high, Math.floor((width - (columns - 1) * gap) / columns)));
}

function content(node, view, edges, width) {
  const text = node === ROOT ? view.question : (view.texts.get(node) ?? "");
  const { lines, more } = wrap(text, width - 2 * PAD, measure, MAX_LINES);
  const scores = edges.filter((edge) => edge.target === node && edge.score !== null).map((edge) => edge.score);
  const score = scores.length ? Math.max(...scores) : null;
  return { text, lines, more, score, width, height: 2 * PAD + LINE * (lines.length + 1) };
}

function stateOf(node, view) {
  if (node === ROOT) return "root";
  if (!view.gold) return "plain";
  const golden = view.gold.nodes.includes(node);
  if (!view.graph.nodes.includes(node)) return "missed";
  return golden ? "right" : "wrong";
}

function box(node, place, { text, lines, more, score }, view, onOpen) {
  const state = stateOf(node, view);
  const answers = view.answers.has(node);
  const head = node === ROOT ? "Question" : `Fact ${node}`;
  const notes = [score === null ? "" : `probability ${probability(score)}`, answers ? "gives the answer" : "", STATES[state] ?? ""];
  const group = svg("g", {
    class: `node ${state}${answers ? " answers" : ""}`,
    role: "button", tabindex: node === ROOT ? 0 : -1, "data-node": node,
    transform: `translate(${place.x} ${place.y})`,
    "aria-label": [head, ...notes, text].filter(Boolean).join(", "),
    click: () => onOpen(node),
  });
  group.append(svg("rect", { class: "frame", width: place.width, height: place.height, rx: 7 }));
  group.append(svg("text", { class: "head", x: PAD, y: PAD + 11 }, head));
  const right = [score === null ? "" : probability(score), answers ? "answer" : ""].filter(Boolean).join(" · ");
  if (right) group.append(svg("text", { class: "head", x: place.width - PAD, y: PAD + 11, "text-anchor": "end" }, right));
  const spans = view.spans.filter((span) => span.fact === node);
  lines.forEach((line, at) => {
    const y = PAD + LINE * (at + 1);
    group.append(...spans.map((span) => mark(text, line, span, y)).filter(Boolean));
    const shown = slice(text, line.start, line.end).replace(/\s/g, " ");
    group.append(svg("text", { x: PAD, y: y + 13 }, more && at === lines.length - 1 ? `${shown}…` : shown));
  });
  return group;
}

/** The background of what was read from a line. */
function mark(text, line, span, y) {
  const [start, end] = [Math.max(span.start, line.start), Math.min(span.end, line.end)];
  if (start >= end) return null;
  const x = PAD + measure(slice(text, line.start, start));
  return svg("rect", { class: "mark", x: x - 1, y: y + 1, width: measure(slice(text, start, end)) + 2, height: LINE - 2, rx: 3 });
}

function arrow({ edge, points }, edges, view, down) {
  const chain = view.chain.has(key(edge));
  const [x, y] = points.at(-1);
  const tip = down ? [x, y - HEAD] : [x - HEAD, y];
  const path = [...points.slice(0, -1), tip].map(([a, b], at, all) => {
    if (!at) return `M${a} ${b}`;
    const [c, d] = all[at - 1];
    return down ? `C${c} ${(b + d) / 2} ${a} ${(b + d) / 2} ${a} ${b}` : `C${(a + c) / 2} ${d} ${(a + c) / 2} ${b} ${a} ${b}`;
  });
  const head = down ? `M${x} ${y}l-4 -${HEAD}h8z` : `M${x} ${y}l-${HEAD} -4v8z`;
  const group = svg("g", { class: `edge ${edge.state}${chain ? " chain" : ""}`, "aria-hidden": "true" });
  group.append(svg("title", {}, `${name(edge.source)} → ${name(edge.target)}`));
  group.append(svg("path", { class: "line", d: path.join("") }), svg("path", { class: "tip", d: head }));
  // the box shows the probability of the only edge that leads to it
  if (edge.score !== null && edges.filter((one) => one.target === edge.target).length > 1) {
    const at = down ? { x: x + 5, y: y - 10, "text-anchor": "start" } : { x: x - 10, y: y - 6, "text-anchor": "end" };
    group.append(svg("text", { class: "score", ...at }, probability(edge.score)));
  }
  return group;
}

/** Arrow keys move along the edges and within a layer; Enter and space open. */
function move(event, root, boxes, edges, down) {
  const current = event.target.closest?.("[data-node]");
  if (!current) return;
  const node = Number(current.dataset.node);
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    current.dispatchEvent(new MouseEvent("click"));
    return;
  }
  const place = boxes.get(node);
  const within = (step) => [...boxes].find(([, one]) => one.layer === place.layer && one.place === place.place + step)?.[0];
  const sideways = (step) => {
    for (let at = 1; at <= boxes.size; at += 1) {
      const found = within(step * at); // an invisible node may be between
      if (found !== undefined) return found;
    }
    return undefined;
  };
  const first = (numbers) => numbers.sort((a, b) => boxes.get(a).place - boxes.get(b).place)[0];
  const onward = () => first(edges.filter((edge) => edge.source === node).map((edge) => edge.target));
  const back = () => first(edges.filter((edge) => edge.target === node).map((edge) => edge.source));
  const ways = {
    [down ? "ArrowDown" : "ArrowRight"]: onward,
    [down ? "ArrowUp" : "ArrowLeft"]: back,
    [down ? "ArrowRight" : "ArrowDown"]: () => sideways(1),
    [down ? "ArrowLeft" : "ArrowUp"]: () => sideways(-1),
    Home: () => ROOT,
  };
  if (!(event.key in ways)) return;
  event.preventDefault();
  const to = ways[event.key]();
  if (to !== undefined) focusNode(root, to);
}

/** Give the focus to a box, which alone is in the order of the Tab key then. */
export function focusNode(root, node) {
  for (const one of root.querySelectorAll("[data-node]")) one.setAttribute("tabindex", Number(one.dataset.node) === node ? 0 : -1);
  root.querySelector(`[data-node="${node}"]`)?.focus();
}
