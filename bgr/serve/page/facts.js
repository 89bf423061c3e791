// The user's own facts: typed or pasted lines, and the facts of one uploaded file.

import { byId, count, el, plural, say } from "./dom.js";
import { FileProblem, factsOfColumn, factsOfLines, parseFile, readFile } from "./parse.js";

const PREVIEW = 5;

export class Facts {
  /** @param limits () → {facts, bytes} of the server, or null */
  constructor(limits) {
    this.limits = limits;
    this.typed = [];
    this.file = null; // {name, facts, …}
    this.area = byId("facts");
    this.area.addEventListener("input", () => this.changed());
    byId("file").addEventListener("change", (event) => this.choose(event.target));
    const drop = byId("panel-facts");
    drop.addEventListener("dragover", (event) => event.preventDefault());
    drop.addEventListener("drop", (event) => {
      if (!event.dataTransfer.files.length) return;
      event.preventDefault();
      this.read(event.dataTransfer.files[0]);
    });
    this.changed();
  }

  /** All facts: the typed ones, then those of the file. */
  get all() {
    return [...this.typed, ...(this.file?.facts ?? [])];
  }

  /** Put other facts in place of those there are. */
  replace(facts) {
    this.area.value = facts.join("\n");
    this.drop();
    this.changed();
  }

  /** Why the facts cannot be sent; "" if they can. */
  problem() {
    const { length } = this.all;
    const allowed = this.limits()?.facts;
    if (!length) return "There are no facts: paste some, one a line, or upload a file.";
    if (allowed && length > allowed) return `${plural(length, "fact")}, allowed: ${count(allowed)}.`;
    return "";
  }

  changed() {
    this.typed = factsOfLines(this.area.value);
    const parts = [plural(this.typed.length, "fact") + (this.file ? " typed" : "")];
    if (this.file) parts.push(`${count(this.file.facts.length)} from ${this.file.name}`);
    const over = this.all.length ? this.problem() : "";
    byId("facts-count").textContent = over || parts.join(", ");
  }

  async choose(input) {
    const [file] = input.files;
    if (file) await this.read(file);
    input.value = ""; // the same file can be chosen again after it was mended
  }

  /** Read a file. One that is bad is reported, and changes nothing. */
  async read(file) {
    try {
      const text = await readFile(file, this.limits()?.bytes ?? Infinity);
      this.file = { name: file.name, ...parseFile(file.name, text) };
      say(byId("file-problem"), "");
    } catch (error) {
      const line = error instanceof FileProblem ? error.message : `${file.name}: cannot be read`;
      say(byId("file-problem"), `${line}. Nothing was changed.`);
      return;
    }
    this.show();
    this.changed();
  }

  drop() {
    this.file = null;
    byId("uploaded").hidden = true;
    say(byId("file-problem"), "");
  }

  show() {
    const { name, facts, columns } = this.file;
    const remove = el("button", { type: "button", click: () => this.removed() }, "Remove");
    const first = el("ol", {}, facts.slice(0, PREVIEW).map((fact) => el("li", { dir: "auto" }, fact)));
    const rest = facts.length > PREVIEW && el("p", { class: "hint" }, `and ${count(facts.length - PREVIEW)} more`);
    const box = byId("uploaded");
    box.replaceChildren(el("p", {}, el("strong", {}, name), `: ${plural(facts.length, "fact")} `, remove));
    if (columns) box.append(this.columnChooser());
    box.append(first, ...(rest ? [rest] : []));
    box.hidden = false;
  }

  columnChooser() {
    const { columns, column, header } = this.file;
    const options = columns.map((one, at) => el("option", { value: at, selected: at === column }, one));
    const select = el("select", { id: "column", change: (event) => this.table({ column: Number(event.target.value) }) }, options);
    const box = el("input", { type: "checkbox", checked: header, change: (event) => this.table({ header: event.target.checked }) });
    return el("div", { class: "fields" }, el("label", { class: "field" }, "Column ", select), el("label", { class: "check" }, box, "the first row has names"));
  }

  table(choice) {
    Object.assign(this.file, choice);
    this.file.facts = factsOfColumn(this.file);
    const focused = document.activeElement?.id;
    this.show();
    if (focused) byId(focused)?.focus();
    this.changed();
  }

  removed() {
    this.drop();
    this.changed();
    byId("file").focus();
  }
}
