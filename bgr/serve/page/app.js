// The page: reads the form, asks one or two systems, and shows what they answer.

import * as api from "./api.js";
import { byId, el, plural, say } from "./dom.js";
import { Examples } from "./examples.js";
import { Facts } from "./facts.js";
import { MAX_LINK, fromFragment, toFragment } from "./link.js";
import { resultCard } from "./result.js";
import { summary } from "./why.js";

const form = byId("ask");
const question = byId("question");
let limits = null;
let systems = [];
let running = null; // AbortController of the questions that are being asked
let own = ""; // the fragment that this page wrote itself

const facts = new Facts(() => limits);
const examples = new Examples((chosen) => {
  question.value = chosen.question;
});

const notify = (line) => say(byId("status"), line);
const source = () => new FormData(form).get("source");

function report(line, retry) {
  const box = byId("problem");
  box.replaceChildren(line);
  if (retry) box.append(" ", el("button", { type: "button", click: retry }, "Try again"));
  box.hidden = !line;
}

// ---- what the server offers

async function start() {
  report("");
  try {
    const ready = await api.health();
    limits = ready.limits;
    byId("version").textContent = `BGR ${ready.version}`;
    byId("token-field").hidden = !ready.token;
    if (ready.token && !byId("token").value) return notify("This server needs a token: enter it above.");
    const [names, collections, offered] = await Promise.all([api.systems(), api.collections(), api.examples()]);
    fill(names, collections, offered);
  } catch (error) {
    return report(error.message, start);
  }
  return restore();
}

function fill(names, collections, offered) {
  systems = names;
  byId("system").replaceChildren(...names.map((one) => el("option", { value: one.name }, one.name)));
  byId("against").replaceChildren(el("option", { value: "" }, "no other system"), ...names.map((one) => el("option", { value: one.name }, one.name)));
  byId("against").disabled = names.length < 2;
  byId("collection").replaceChildren(...collections.map((one) => el("option", { value: one.name }, `${one.name} (${plural(one.texts, "text")})`)));
  examples.fill(offered);
  if (!collections.length) form.elements.source.value = "facts";
  describe();
  showPanel();
}

function describe() {
  const chosen = [byId("system").value, byId("against").value];
  const lines = systems.filter((one) => chosen.includes(one.name)).map((one) => `${one.name}: ${one.description}`);
  byId("system-note").textContent = lines.join(" · ");
}

function showPanel() {
  for (const name of ["collection", "example", "facts"]) byId(`panel-${name}`).hidden = source() !== name;
}

// ---- the form and the link

function state() {
  return {
    question: question.value.replace(/\s+/g, " ").trim(),
    source: source(),
    collection: byId("collection").value,
    example: examples.chosen?.id ?? null,
    facts: source() === "facts" ? facts.all : [],
    system: byId("system").value,
    against: byId("against").value,
    pool: byId("pool").valueAsNumber || null,
  };
}

function problemOf(asked) {
  if (!asked.question) return "The question is empty.";
  if (asked.source === "example" && !asked.example) return "Choose an example first.";
  if (asked.source === "collection" && !asked.collection) return "This server has no collection.";
  return asked.source === "facts" ? facts.problem() : "";
}

function requestOf(asked, system) {
  const request = { question: asked.question, system };
  if (asked.source === "facts") return { ...request, facts: asked.facts };
  if (asked.source === "example") return { ...request, example: asked.example };
  return { ...request, collection: asked.collection, ...(asked.pool ? { pool: asked.pool } : {}) };
}

/** Fill the form from the link, and ask, if it has a question. */
function restore() {
  const linked = fromFragment(location.hash);
  if (!linked || location.hash === own) return;
  own = location.hash;
  question.value = linked.question;
  form.elements.source.value = linked.source;
  const missing = [];
  const pick = (id, value, what) => {
    if (!value) return;
    const known = [...byId(id).options].some((one) => one.value === value);
    if (known) byId(id).value = value;
    else missing.push(`${what} “${value}”`);
  };
  pick("collection", linked.source === "collection" && linked.collection, "the collection");
  pick("system", linked.system, "the system");
  pick("against", linked.against, "the system");
  byId("pool").value = linked.pool ?? "";
  if (linked.source === "example" && !examples.choose(linked.example)) missing.push(`the example “${linked.example}”`);
  question.value = linked.question; // which may be another one than the example's
  if (linked.source === "facts" && !linked.left) facts.replace(linked.facts);
  describe();
  showPanel();
  if (linked.left) return report(`The link does not hold its ${plural(linked.left, "fact")}: they were too long. Paste or upload them, then ask.`);
  if (missing.length) return report(`The link names what this server does not have: ${missing.join(", ")}.`);
  ask();
}

// ---- asking

async function ask() {
  if (running) return;
  const asked = state();
  const problem = problemOf(asked);
  report(problem);
  if (problem) return;
  running = new AbortController();
  const names = [...new Set([asked.system, asked.against].filter(Boolean))];
  busy(true);
  const outcomes = await Promise.allSettled(names.map((name) => api.answer(requestOf(asked, name), running.signal)));
  busy(false);
  running = null;
  if (outcomes.every((one) => one.reason?.kind === "cancelled")) return notify("Cancelled. The question and the facts are still here.");
  show(asked, names, outcomes);
}

function show(asked, names, outcomes) {
  const answers = outcomes.filter((one) => one.status === "fulfilled").map((one) => one.value);
  const failures = outcomes.flatMap((one, at) => (one.status === "rejected" ? [{ name: names[at], error: one.reason }] : []));
  if (failures.length) {
    const lines = new Set(failures.map(({ name, error }) => (names.length > 1 && answers.length ? `${name}: ${error.message}` : error.message)));
    report(`${[...lines].join(" ")} Nothing was lost.`, ask);
    if (failures.some(({ error }) => error.kind === "token")) byId("token").focus();
  }
  if (!answers.length) return notify("");
  const results = byId("results");
  results.replaceChildren(shareRow(asked), el("div", { class: answers.length > 1 ? "cards two" : "cards" }, answers.map((one) => resultCard(one, notify))));
  own = toFragment(asked).fragment;
  history.replaceState(null, "", own);
  notify(answers.map((one) => (answers.length > 1 ? `${one.system}: ${summary(one)}` : summary(one))).join(" "));
  results.scrollIntoView({ behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth", block: "start" });
}

function shareRow(asked) {
  const { fragment, left } = toFragment(asked);
  const link = el("input", { id: "link", readonly: true, "aria-label": "Link to this question", value: new URL(fragment, location.href).href });
  const copy = async () => {
    const rest = left ? ` The facts are not in it: ${plural(left, "fact")} are more than the ${MAX_LINK.toLocaleString("en-US")} characters of a link.` : "";
    try {
      await navigator.clipboard.writeText(link.value);
      notify(`The link is copied.${rest}`);
    } catch {
      link.select(); // the clipboard is forbidden
      notify(`The link is selected: copy it.${rest}`);
    }
  };
  return el("div", { class: "share" }, el("p", { class: "asked", dir: "auto" }, asked.question), el("div", { class: "fields" }, link, el("button", { type: "button", id: "copy", click: copy }, "Copy link")));
}

function busy(on) {
  byId("submit").disabled = on;
  byId("cancel").hidden = !on;
  byId("results").setAttribute("aria-busy", on);
  if (!on) return clearInterval(busy.clock);
  notify("Asking.");
  const began = performance.now();
  const tick = () => {
    byId("timer").textContent = `${((performance.now() - began) / 1000).toFixed(1)} s`;
  };
  tick();
  busy.clock = setInterval(tick, 100);
  return undefined;
}

// ---- events

form.addEventListener("submit", (event) => {
  event.preventDefault();
  ask();
});
form.addEventListener("keydown", (event) => {
  const enter = event.key === "Enter" && !event.isComposing;
  if (enter && (event.ctrlKey || event.metaKey || (event.target === question && !event.shiftKey))) {
    event.preventDefault();
    ask();
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && running) running.abort();
});
form.addEventListener("change", (event) => {
  if (event.target.name === "source") showPanel();
  if (["system", "against"].includes(event.target.id)) describe();
});
byId("cancel").addEventListener("click", () => running?.abort());
byId("token").addEventListener("change", () => {
  api.setToken(byId("token").value);
  if (!systems.length) start();
});
addEventListener("hashchange", restore);
start();
