// The state of the page as a link: everything is in the fragment, which browsers do not send to servers.

export const MAX_LINK = 8_000; // characters of the fragment; some programs cut longer links

/**
 * A fragment for a question. Facts that do not fit are left out: `left` is their number then, else 0.
 *
 * @param state {question, source, collection, example, facts, system, against, pool}
 */
export function toFragment(state) {
  const parts = new URLSearchParams({ q: state.question });
  if (state.source === "collection") parts.set("c", state.collection);
  if (state.source === "example") parts.set("e", state.example);
  if (state.system) parts.set("s", state.system);
  if (state.against) parts.set("vs", state.against);
  if (state.source === "collection" && state.pool) parts.set("n", state.pool);
  if (state.source !== "facts") return { fragment: `#${parts}`, left: 0 };
  const whole = new URLSearchParams(parts);
  const facts = state.facts.join("\n");
  if (facts.length <= MAX_LINK) whole.set("f", facts);
  const fragment = `#${whole}`;
  if (facts.length <= MAX_LINK && fragment.length <= MAX_LINK) return { fragment, left: 0 };
  parts.set("left", state.facts.length);
  return { fragment: `#${parts}`, left: state.facts.length };
}

/** The state of a fragment; null if it has no question. */
export function fromFragment(fragment) {
  const parts = new URLSearchParams(fragment.replace(/^#/, ""));
  if (!parts.has("q")) return null;
  const source = parts.has("e") ? "example" : parts.has("f") || parts.has("left") ? "facts" : "collection";
  const pool = Number(parts.get("n"));
  return {
    question: parts.get("q"),
    source,
    collection: parts.get("c"),
    example: parts.get("e"),
    facts: (parts.get("f") ?? "").split("\n").filter(Boolean),
    left: Number(parts.get("left")) || 0,
    system: parts.get("s"),
    against: parts.get("vs"),
    pool: Number.isInteger(pool) && pool > 0 ? pool : null,
  };
}
