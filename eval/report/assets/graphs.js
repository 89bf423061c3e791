"use strict";
// Draws one evidence graph with Cytoscape: levels from the question downwards, each fact below all that lead to it.

const ROOT = -1;
const COLOURS = { right: "#0072b2", wrong: "#d55e00", missed: "#e69f00" };
const FILLS = { right: "#e8f3fa", wrong: "#fdeee3", missed: "#fff6df" };
const LINES = { right: "solid", wrong: "dashed", missed: "dashed" };
const BORDERS = { right: "solid", wrong: "dashed", missed: "dotted" };
const MOST_BESIDE = 3; // boxes with text that fit side by side; wider graphs show numbers alone

/** Level of each node: the number of edges of the longest path from the root. Edges are acyclic. */
function levelsOf(edges) {
  const level = new Map([[ROOT, 0]]);
  for (let changed = true; changed;) {
    changed = false;
    for (const [a, b] of edges) {
      const next = (level.get(a) ?? 0) + 1;
      if (next > (level.get(b) ?? 0)) { level.set(b, next); changed = true; }
    }
  }
  return level;
}

/** Rows of nodes, each ordered by the mean place of what leads to it, so that few edges cross. */
function rowsOf(edges) {
  const rows = [];
  for (const [node, level] of levelsOf(edges)) (rows[level] ??= []).push(node);
  const place = new Map();
  for (const row of rows) {
    const wish = new Map(row.map((node) => {
      const before = edges.filter(([, b]) => b === node).map(([a]) => place.get(a) ?? 0);
      return [node, before.length ? before.reduce((x, y) => x + y, 0) / before.length : 0];
    }));
    row.sort((x, y) => wish.get(x) - wish.get(y) || x - y);
    row.forEach((node, i) => place.set(node, i - (row.length - 1) / 2));
  }
  return rows;
}

const isWide = (rows) => Math.max(...rows.map((row) => row.length)) > MOST_BESIDE;
const labelOf = (node, texts, wide) => node === ROOT ? "Q" : wide ? String(node) : `${node}  ${texts[node]}`;

/** Height of a node's box: about 20 letters fit on a line. */
function boxHeight(node, texts, wide) {
  if (node === ROOT || wide) return 30;
  let lines = 1;
  let length = 0;
  for (const word of labelOf(node, texts, wide).split(/\s+/)) {
    if (length > 0 && length + 1 + word.length > 20) { lines += 1; length = 0; }
    length += word.length + (length > 0 ? 1 : 0);
  }
  return 14 + 15 * lines;
}

/** Where each row begins, and in the last place where the graph ends. */
function topsOf(rows, texts, wide) {
  const tops = [0];
  for (const row of rows) {
    tops.push(tops.at(-1) + Math.max(...row.map((node) => boxHeight(node, texts, wide))) + (wide ? 50 : 62));
  }
  return tops;
}

function elementsOf(edges, texts, edgeKind, nodeKind) {
  const rows = rowsOf(edges);
  const wide = isWide(rows);
  const level = levelsOf(edges);
  const tops = topsOf(rows, texts, wide);
  const nodes = rows.flatMap((row, y) => row.map((node, i) => ({
    data: {
      id: String(node), text: labelOf(node, texts, wide), width: node === ROOT || wide ? 38 : 152,
      height: boxHeight(node, texts, wide), kind: node === ROOT ? "root" : nodeKind(node),
    },
    position: {
      x: (i - (row.length - 1) / 2) * (wide ? 58 : 168),
      y: tops[y] + Math.max(...row.map((other) => boxHeight(other, texts, wide))) / 2,
    },
  })));
  const lines = edges.map(([a, b, score]) => ({
    data: {
      id: `${a}>${b}`, source: String(a), target: String(b), kind: edgeKind(a, b),
      score: wide || score === undefined || score === null ? "" : String(Math.round(100 * score) / 100),
      bend: level.get(b) - level.get(a) > 1 ? (wide ? 40 : 110) : 0,
    },
  }));
  return { nodes, edges: lines };
}

const STYLE = [
  { selector: "node", style: {
    shape: "round-rectangle", label: "data(text)", width: "data(width)", height: "data(height)", "text-wrap": "wrap",
    "text-max-width": "140px", "text-valign": "center", "text-halign": "center", "font-size": 12, color: "#1d2733",
    "font-family": "system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif", "border-width": 2,
  } },
  { selector: "node[kind = 'root']", style: {
    shape: "ellipse", "background-color": "#1d2733", "border-color": "#1d2733", color: "#ffffff", "font-weight": "bold" } },
  ...Object.keys(COLOURS).flatMap((kind) => [
    { selector: `node[kind = '${kind}']`, style: {
      "background-color": FILLS[kind], "border-color": COLOURS[kind], "border-style": BORDERS[kind] } },
    { selector: `edge[kind = '${kind}']`, style: {
      "line-color": COLOURS[kind], "target-arrow-color": COLOURS[kind], "line-style": LINES[kind],
      "line-dash-pattern": kind === "missed" ? [2, 6] : [8, 5], width: kind === "missed" ? 4 : 3 } },
  ]),
  { selector: "edge", style: { "curve-style": "bezier", "target-arrow-shape": "triangle", "arrow-scale": 1.1 } },
  { selector: "edge[bend > 0]", style: {
    "curve-style": "unbundled-bezier", "control-point-distances": "data(bend)", "control-point-weights": 0.5 } },
  { selector: "edge[score != '']", style: {
    label: "data(score)", "font-size": 11, color: "#5b6775", "text-background-color": "#ffffff",
    "text-background-opacity": 0.9, "text-background-padding": "1px" } },
  { selector: "node.lit", style: { "border-width": 4 } },
];

/**
 * Draw into a pane and return the Cytoscape instance. `edges` are [a, b] or [a, b, score] and may be empty;
 * `edgeKind` and `nodeKind` give "right", "wrong" or "missed"; `lit` is called with a fact's number, or null.
 */
function drawGraph(pane, edges, texts, edgeKind, nodeKind, lit) {
  const cy = cytoscape({
    container: pane, elements: elementsOf(edges, texts, edgeKind, nodeKind), style: STYLE, layout: { name: "preset" },
    autoungrabify: true, boxSelectionEnabled: false, userZoomingEnabled: false, maxZoom: 1.15, minZoom: 0.05,
  });
  cy.on("mouseover tap", "node", (event) => lit(event.target.id() === String(ROOT) ? null : Number(event.target.id())));
  cy.on("mouseout", "node", () => lit(null));
  return cy;
}

/** Show two graphs as large as both fit into their panes, in the same size. */
function fitBoth(graphs) {
  for (const cy of graphs) cy.fit(undefined, 16);
  const zoom = Math.min(...graphs.map((cy) => cy.zoom()));
  for (const cy of graphs) { cy.zoom(zoom); cy.center(); }
}

/** Height in pixels that a graph wants. */
function heightOf(edges, texts) {
  const rows = rowsOf(edges);
  return Math.max(180, Math.min(760, 1.1 * topsOf(rows, texts, isWide(rows)).at(-1)));
}
