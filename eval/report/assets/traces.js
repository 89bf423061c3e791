"use strict";
// What the page holds is data of strangers: everything is put in as text, nothing as markup.
const data = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);
const make = (tag, text, name) => {
  const one = document.createElement(tag);
  if (text !== undefined) one.textContent = text;
  if (name) one.className = name;
  return one;
};
const shown = data.systems.map(() => true);
let found = data.questions.map((_, number) => number);
let place = 0;

function passage(number, gold, missed) {
  const [title, text] = data.passages[number];
  const item = make("li", undefined, missed ? "missed" : gold.has(number) ? "right" : "");
  if (!title && text.length < 200) {
    item.append(text);
    if (item.className) item.classList.add("plain");
    return item;
  }
  const fold = make("details");
  const head = make("summary");
  head.append(make("b", title || text.slice(0, 90) + "…"));
  fold.append(head, make("span", text));
  item.append(fold);
  return item;
}

function edges(pairs) {
  const name = (node) => (node < 0 ? "Q" : String(node + 1));
  return pairs.map(([a, b]) => `${name(a)} → ${name(b)}`).join(", ") || "(empty)";
}

function step([label, text, failed]) {
  const fold = make("details");
  fold.append(make("summary", label, failed ? "failed" : ""), make("pre", text));
  return fold;
}

function column(name, one, gold) {
  const box = make("div", undefined, "column");
  box.append(make("h4", name), make("p", one.scores, "scores"), make("p", one.usage, "scores"));
  if (one.answer !== null) box.append(make("p", `answer: ${one.answer}`, "scores"));
  box.append(make("h5", `found${one.more ? `, the first ${one.places.length}` : ""}`));
  const list = make("ol", undefined, "passages");
  for (const number of one.places) list.append(passage(number, gold, false));
  box.append(one.places.length ? list : make("p", "nothing", "scores"));
  if (one.edges !== null) box.append(make("h5", "graph, by rank"), make("p", edges(one.edges), "edges"));
  if (one.trace.length) box.append(make("h5", "steps"), ...one.trace.map(step));
  return box;
}

function show() {
  at("nothing").hidden = found.length > 0;
  at("question").hidden = found.length === 0;
  at("count").textContent = found.length ? `${place + 1} of ${found.length}` : "none";
  if (!found.length) return;
  const question = data.questions[found[place]];
  at("pick").value = String(found[place]);
  at("meta").textContent = [question.id, `${question.hops} hops`, question.kind].filter(Boolean).join(" · ");
  at("text").textContent = question.question;
  at("answer").textContent = question.answers.length ? `answer: ${question.answers.join(" / ")}` : "";
  const gold = new Set(question.gold);
  const list = at("gold");
  list.replaceChildren(...question.gold.map((number) => passage(number, gold, false)));
  if (question.missing) list.append(make("li", `${question.missing} that the corpus lacks`, "missed"));
  if (question.edges !== null) list.append(make("p", edges(question.edges), "edges"));
  const boxes = question.systems.map((one, number) => (shown[number] ? column(data.systems[number], one, gold) : null));
  at("columns").replaceChildren(...boxes.filter(Boolean));
}

function filter() {
  const words = at("find").value.toLowerCase().split(/\s+/).filter(Boolean);
  found = [];
  data.questions.forEach((one, number) => {
    const text = `${one.id} ${one.question}`.toLowerCase();
    if (words.every((word) => text.includes(word))) found.push(number);
  });
  place = 0;
  at("pick").replaceChildren(...found.map((number) => {
    const option = make("option", data.questions[number].question);
    option.value = String(number);
    return option;
  }));
  show();
}

function move(by) {
  if (!found.length) return;
  place = (place + by + found.length) % found.length;
  show();
}

data.systems.forEach((name, number) => {
  const label = make("label");
  const box = make("input");
  box.type = "checkbox";
  box.checked = true;
  box.addEventListener("change", () => { shown[number] = box.checked; show(); });
  label.append(box, ` ${name}`);
  at("shown").append(label);
});
at("find").addEventListener("input", filter);
at("pick").addEventListener("change", () => { place = found.indexOf(Number(at("pick").value)); show(); });
at("previous").addEventListener("click", () => move(-1));
at("next").addEventListener("click", () => move(1));
filter();
