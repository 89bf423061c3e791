// Layout of evidence graphs in layers (Sugiyama's method). The layer of a node is its longest distance from the
// question; an edge that crosses a layer has an invisible node there, so that it does not run through a box.

export const ROOT = -1;

const SWEEPS = 8;
const THREAD = 8; // room that an edge takes as it crosses a layer

/**
 * Boxes and arrows of a graph, in pixels.
 *
 * @param edges [{source, target}], acyclic, from the question (-1).
 * @param size node → {width, height}.
 * @param down whether layers run from top to bottom; else from left to right.
 * @param gaps {layer, node}: the distance of layers, and of neighbors in a layer.
 * @returns {boxes: Map of node → {x, y, width, height, layer, place}, arrows: [{edge, points}], width, height}
 */
export function layOut(edges, size, { down, gaps }) {
  const { layers, threads } = intoLayers(edges);
  const [across, along] = down ? ["width", "height"] : ["height", "width"];
  const breadth = (node) => (typeof node === "number" ? size(node)[across] : THREAD);
  const depth = (node) => (typeof node === "number" ? size(node)[along] : 0);
  const { before, after } = neighbors(threads);
  sort(layers, before, after);
  const center = positions(layers, before, after, (a, b) => (breadth(a) + breadth(b)) / 2 + gaps.node);
  const low = Math.min(...layers.flat().map((node) => center.get(node) - breadth(node) / 2));
  const high = Math.max(...layers.flat().map((node) => center.get(node) + breadth(node) / 2));

  const boxes = new Map();
  const middle = new Map(); // of every node, also the invisible ones: [main axis from, main axis to, cross axis]
  let main = 0;
  layers.forEach((layer, number) => {
    const deep = Math.max(...layer.map(depth));
    layer.forEach((node, place) => {
      const cross = center.get(node) - low;
      const real = typeof node === "number";
      middle.set(node, [main, main + (real ? depth(node) : deep), cross]);
      if (!real) return;
      const { width, height } = size(node);
      const corner = cross - breadth(node) / 2;
      const [x, y] = down ? [corner, main] : [main, corner];
      boxes.set(node, { x, y, width, height, layer: number, place });
    });
    main += deep + gaps.layer;
  });
  const point = (onMain, cross) => (down ? [cross, onMain] : [onMain, cross]);
  const arrows = threads.map(({ edge, nodes }) => ({
    edge,
    points: nodes.flatMap((node, at) => {
      const [from, to, cross] = middle.get(node);
      if (at === 0) return [point(to, cross)];
      if (at === nodes.length - 1) return [point(from, cross)];
      return [point(from, cross), point(to, cross)];
    }),
  }));
  const [width, height] = down ? [high - low, main - gaps.layer] : [main - gaps.layer, high - low];
  return { boxes, arrows, width, height };
}

function intoLayers(edges) {
  const rank = new Map([[ROOT, 0]]);
  for (const { source, target } of edges) for (const node of [source, target]) if (!rank.has(node)) rank.set(node, 1);
  for (let round = 0, changed = true; changed && round <= rank.size; round += 1) {
    changed = false;
    for (const { source, target } of edges) {
      if (rank.get(target) <= rank.get(source)) {
        rank.set(target, rank.get(source) + 1);
        changed = true;
      }
    }
  }
  const layers = Array.from({ length: Math.max(...rank.values()) + 1 }, () => []);
  for (const node of [...rank.keys()].sort((a, b) => a - b)) layers[rank.get(node)].push(node);
  const threads = edges.map((edge) => {
    const nodes = [edge.source];
    for (let layer = rank.get(edge.source) + 1; layer < rank.get(edge.target); layer += 1) {
      const thread = `${edge.source}>${edge.target}@${layer}`;
      layers[layer].push(thread);
      nodes.push(thread);
    }
    return { edge, nodes: [...nodes, edge.target] };
  });
  return { layers: layers.filter((layer) => layer.length), threads };
}

function neighbors(threads) {
  const before = new Map();
  const after = new Map();
  const put = (map, key, value) => map.set(key, [...(map.get(key) ?? []), value]);
  for (const { nodes } of threads) {
    for (let at = 1; at < nodes.length; at += 1) {
      put(after, nodes[at - 1], nodes[at]);
      put(before, nodes[at], nodes[at - 1]);
    }
  }
  return { before, after };
}

const mean = (numbers, otherwise) =>
  numbers.length ? numbers.reduce((sum, number) => sum + number, 0) / numbers.length : otherwise;

/** Order each layer by the mean place of its neighbors in the layer before, then after, again and again. */
function sort(layers, before, after) {
  const place = new Map(layers.flatMap((layer) => layer.map((node, at) => [node, at])));
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const forward = sweep % 2 === 0;
    const side = forward ? before : after;
    for (const layer of forward ? layers : layers.toReversed()) {
      const key = new Map(
        layer.map((node) => [node, mean((side.get(node) ?? []).map((other) => place.get(other)), place.get(node))]),
      );
      layer.sort((a, b) => key.get(a) - key.get(b));
      layer.forEach((node, at) => place.set(node, at));
    }
  }
}

/** Centers on the cross axis, as close to those of the neighbors as the distances allow. */
function positions(layers, before, after, distance) {
  const center = new Map();
  for (const layer of layers) {
    let at = 0;
    layer.forEach((node, place) => {
      if (place) at += distance(layer[place - 1], node);
      center.set(node, at);
    });
  }
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const forward = sweep % 2 === 0;
    for (const layer of forward ? layers : layers.toReversed()) {
      const sides = sweep < SWEEPS - 2 ? [forward ? before : after] : [before, after];
      const wanted = layer.map((node) =>
        mean(sides.flatMap((side) => side.get(node) ?? []).map((other) => center.get(other)), center.get(node)),
      );
      spread(layer, wanted, distance).forEach((at, place) => center.set(layer[place], at));
    }
  }
  return center;
}

/** The positions nearest to those wanted, by least squares, with the distances kept: isotonic regression. */
function spread(layer, wanted, distance) {
  const shift = [0];
  for (let at = 1; at < layer.length; at += 1) shift.push(shift[at - 1] + distance(layer[at - 1], layer[at]));
  const blocks = []; // [mean, count]
  wanted.forEach((value, at) => {
    blocks.push([value - shift[at], 1]);
    while (blocks.length > 1 && blocks.at(-2)[0] > blocks.at(-1)[0]) {
      const [b, m] = blocks.pop();
      const [a, n] = blocks.pop();
      blocks.push([(a * n + b * m) / (n + m), n + m]);
    }
  });
  return blocks.flatMap(([value, length]) => new Array(length).fill(value)).map((value, at) => value + shift[at]);
}
