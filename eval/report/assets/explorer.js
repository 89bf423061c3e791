"use strict";
// Filters, the list of questions and the chosen question. The choice stands in the address after "#", so that it can be
// bookmarked. Texts come from data and are only ever set as text, never as markup.

const DATA = JSON.parse(document.getElementById("data").textContent);
const MOST_LISTED = 500;
const byId = (id) => document.getElementById(id);
// a question: [id, text, type, structure, hops, chains, answer, facts, gold edges, one outcome for each system];
// an outcome: [edges as a, b, score, ..., F1 in percent, GED-l, kind of error or -1, answer, whether it is right]
const QUESTIONS = DATA.questions.map((q) => ({
  id: q[0], text: q[1], type: q[2], structure: q[3], hops: q[4], chains: q[5], answer: q[6],
  facts: q[7].map((n) => DATA.facts[n]), gold: inGroups(q[8], 2),
  outcomes: q[9].map((o) => ({ edges: o[0], f1: o[1], ged: o[2], kind: o[3], answer: o[4], right: o[5] })),
}));
const NUMBER_OF = new Map(QUESTIONS.map((q, i) => [q.id, i]));
const FILTERS = ["system", "error", "type", "structure", "find"];
const state = { system: DATA.systems[DATA.main], error: "", type: "", structure: "", find: "", question: "" };
let listed = [];
let drawn = [];

function inGroups(flat, size) {
  const groups = [];
  for (let i = 0; i < flat.length; i += size) groups.push(flat.slice(i, i + size));
  return groups;
}

function element(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function options(select, entries) {
  select.replaceChildren(...entries.map(([value, text]) => {
    const option = element("option", text);
    option.value = value;
    return option;
  }));
}

const kindName = (kind) => DATA.kinds[kind].replaceAll("_", " ");
const systemNumber = () => DATA.systems.indexOf(state.system);

function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  for (const name of Object.keys(state)) if (given.has(name)) state[name] = given.get(name);
  if (!DATA.systems.includes(state.system)) state.system = DATA.systems[DATA.main];
  if (!DATA.types.includes(state.type)) state.type = "";
  if (!DATA.structures.includes(state.structure)) state.structure = "";
  if (!["right", "failed", ...DATA.kinds].includes(state.error)) state.error = "";
}

function writeAddress() {
  const shown = Object.entries(state).filter(([, value]) => value !== "");
  history.replaceState(null, "", "#" + new URLSearchParams(shown));
}

function passes(q, system) {
  const kind = q.outcomes[system].kind;
  const outcome = state.error === "" || (state.error === "right" ? kind < 0
    : state.error === "failed" ? kind >= 0 : kind >= 0 && DATA.kinds[kind] === state.error);
  const words = state.find.toLowerCase();
  return outcome && (state.type === "" || DATA.types[q.type] === state.type)
    && (state.structure === "" || DATA.structures[q.structure] === state.structure)
    && (words === "" || q.text.toLowerCase().includes(words) || q.id.toLowerCase().includes(words));
}

function showFilters() {
  const system = systemNumber();
  const counts = DATA.kinds.map((_, kind) => QUESTIONS.filter((q) => q.outcomes[system].kind === kind).length);
  const failed = counts.reduce((a, b) => a + b, 0);
  options(byId("f-system"), DATA.systems.map((name) => [name, name]));
  options(byId("f-error"), [["", "all"], ["right", `right (${QUESTIONS.length - failed})`], ["failed", `failed (${failed})`],
    ...DATA.kinds.map((name, kind) => [name, `${kindName(kind)} (${counts[kind]})`])]);
  options(byId("f-type"), [["", "all"], ...DATA.types.map((name) => [name, name])]);
  options(byId("f-structure"), [["", "all"], ...DATA.structures.map((name) => [name, name])]);
  for (const name of FILTERS) byId(`f-${name}`).value = state[name];
}

function mark(kind) {
  const made = element("span", kind < 0 ? "✓" : "✗", `mark ${kind < 0 ? "ok" : "bad"}`);
  made.title = kind < 0 ? "right" : kindName(kind);
  return made;
}

function showList() {
  const system = systemNumber();
  listed = QUESTIONS.filter((q) => passes(q, system));
  if (!listed.some((q) => q.id === state.question)) state.question = listed.length ? listed[0].id : "";
  const rows = listed.slice(0, MOST_LISTED).map((q) => {
    const button = element("button");
    button.type = "button";
    button.dataset.id = q.id;
    button.append(mark(q.outcomes[system].kind), element("span", q.text, "text"));
    button.addEventListener("click", () => choose(q.id));
    const row = element("li");
    row.append(button);
    return row;
  });
  if (listed.length > MOST_LISTED) rows.push(element("li", `and ${listed.length - MOST_LISTED} more: narrow the filters`, "more"));
  byId("list").replaceChildren(...rows);
  byId("count").textContent = `${listed.length} of ${QUESTIONS.length} questions`;
  document.body.dataset.listed = listed.length;
}

function choose(id) {
  state.question = id;
  showQuestion();
  writeAddress();
}

function step(by) {
  const place = listed.findIndex((q) => q.id === state.question) + by;
  if (place >= 0 && place < listed.length) choose(listed[place].id);
}

/** Scroll the list, and nothing else, so that an entry is in sight. */
function reveal(button) {
  const list = byId("list");
  const box = button.getBoundingClientRect();
  const frame = list.getBoundingClientRect();
  if (box.top < frame.top || box.bottom > frame.bottom) list.scrollTop += box.top - frame.top - frame.height / 3;
}

function showQuestion() {
  for (const cy of drawn) cy.destroy();
  drawn = [];
  const q = QUESTIONS[NUMBER_OF.get(state.question)];
  byId("question").hidden = !q;
  byId("nothing").hidden = Boolean(q);
  document.body.dataset.question = q ? q.id : "";
  if (!q) return;
  for (const button of document.querySelectorAll("#list button")) {
    button.toggleAttribute("aria-current", button.dataset.id === q.id);
    if (button.dataset.id === q.id) reveal(button);
  }
  byId("q-meta").textContent = [q.id, DATA.types[q.type], DATA.structures[q.structure], `hops ${q.hops}`,
    `chains ${q.chains}`, `${q.facts.length} candidate facts`].join("  ·  ");
  byId("q-text").textContent = q.text;
  showSystems(q);
  showAnswers(q);
  showGraphs(q);
}

function showSystems(q) {
  byId("q-systems").replaceChildren(...DATA.systems.map((name, number) => {
    const outcome = q.outcomes[number];
    const button = element("button");
    button.type = "button";
    button.setAttribute("aria-pressed", String(name === state.system));
    button.append(mark(outcome.kind), element("span", name), element("small", `F1 ${outcome.f1}`));
    button.addEventListener("click", () => { state.system = name; showAll(); });
    return button;
  }));
}

function showAnswers(q) {
  const outcome = q.outcomes[systemNumber()];
  const parts = [element("span", "Answer: "), element("b", q.answer)];
  if (outcome.right !== null) {
    parts.push(element("span", `   ·   ${state.system}: `), element("b", outcome.answer ?? "not answerable"), mark(outcome.right ? -1 : 5));
  }
  if (outcome.kind >= 0) {
    parts.push(element("span", `   ·   ${kindName(outcome.kind)}: ${DATA.kind_texts[outcome.kind]}`));
  }
  byId("q-answers").replaceChildren(...parts);
}

function showGraphs(q) {
  const found = inGroups(q.outcomes[systemNumber()].edges, 3);
  const key = ([a, b]) => `${a}>${b}`;
  const goldKeys = new Set(q.gold.map(key));
  const foundKeys = new Set(found.map(key));
  const facts = (edges) => new Set(edges.flatMap(([a, b]) => [a, b]).filter((n) => n !== ROOT));
  const goldFacts = facts(q.gold);
  const foundFacts = facts(found);
  const height = Math.max(heightOf(q.gold, q.facts), heightOf(found, q.facts));
  for (const id of ["gold", "predicted"]) byId(id).style.height = `${height}px`;
  const gold = drawGraph(byId("gold"), q.gold, q.facts, (a, b) => foundKeys.has(key([a, b])) ? "right" : "missed",
    (n) => foundFacts.has(n) ? "right" : "missed", light);
  const predicted = drawGraph(byId("predicted"), found, q.facts, (a, b) => goldKeys.has(key([a, b])) ? "right" : "wrong",
    (n) => goldFacts.has(n) ? "right" : "wrong", light);
  drawn = [gold, predicted];
  fitBoth(drawn);
  const right = found.filter((edge) => goldKeys.has(key(edge))).length;
  byId("gold-count").textContent = `${q.gold.length} edges, ${q.gold.length - right} missed`;
  byId("predicted-name").textContent = state.system;
  byId("predicted-count").textContent = found.length ? `${right} edges right, ${found.length - right} wrong` : "no evidence retrieved";
  showFacts(q, goldFacts, foundFacts);
  Object.assign(document.body.dataset, {
    goldNodes: gold.nodes().length, goldEdges: gold.edges().length, predictedNodes: predicted.nodes().length,
    predictedEdges: predicted.edges().length, right, wrong: found.length - right, missed: q.gold.length - right,
  });
}

function showFacts(q, goldFacts, foundFacts) {
  const words = { right: "", wrong: "extra", missed: "missed", none: "" };
  const shown = { facts: [], others: [] };
  q.facts.forEach((text, n) => {
    const kind = goldFacts.has(n) ? (foundFacts.has(n) ? "right" : "missed") : foundFacts.has(n) ? "wrong" : "none";
    const row = element("li", undefined, kind);
    row.dataset.fact = n;
    row.append(element("b", n), element("em", words[kind]), element("span", text));
    shown[kind === "none" ? "others" : "facts"].push(row);
  });
  byId("facts").replaceChildren(...shown.facts);
  byId("others").replaceChildren(...shown.others);
  byId("others-count").textContent = `${shown.others.length} other candidate facts`;
}

function light(fact) {
  for (const row of document.querySelectorAll(".facts li")) row.classList.toggle("lit", Number(row.dataset.fact) === fact);
  for (const cy of drawn) {
    cy.nodes().removeClass("lit");
    if (fact !== null) cy.getElementById(String(fact)).addClass("lit");
  }
}

function showAll() {
  showFilters();
  showList();
  showQuestion();
  writeAddress();
}

for (const button of document.querySelectorAll("button.go")) {
  button.addEventListener("click", () => {
    Object.assign(state, { system: DATA.systems[button.dataset.system], error: DATA.kinds[button.dataset.kind], type: "", structure: "", find: "", question: "" });
    showAll();
    byId("questions").scrollIntoView();
  });
}
for (const name of FILTERS) {
  byId(`f-${name}`).addEventListener("input", (event) => { state[name] = event.target.value; showAll(); });
}
byId("previous").addEventListener("click", () => step(-1));
byId("next").addEventListener("click", () => step(1));
window.addEventListener("hashchange", () => { readAddress(); showAll(); });
readAddress();
const asked = new URLSearchParams(location.hash.slice(1)).has("question");
showAll();
if (asked) byId("questions").scrollIntoView();
document.body.dataset.ready = "yes";
