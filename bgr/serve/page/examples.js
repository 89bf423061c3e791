// The chooser of examples: a filter above a list.

import * as api from "./api.js";
import { byId, count, el, plural } from "./dom.js";

const SHOWN = 200; // options in the list; the filter finds the others

export class Examples {
  /** @param onChoose called with {id, question, …} when one is chosen. */
  constructor(onChoose) {
    this.onChoose = onChoose;
    this.all = [];
    this.chosen = null;
    this.select = byId("example");
    byId("example-filter").addEventListener("input", () => this.list());
    this.select.addEventListener("change", () => this.choose(this.select.value));
  }

  fill(examples) {
    this.all = examples;
    this.list();
  }

  list() {
    const words = byId("example-filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    const text = (one) => `${one.question} ${one.type} ${one.structure} ${one.id}`.toLowerCase();
    const found = this.all.filter((one) => words.every((word) => text(one).includes(word)));
    this.select.replaceChildren(...found.slice(0, SHOWN).map((one) =>
      el("option", { value: one.id, selected: one.id === this.chosen?.id }, `${one.question} (${about(one)})`)));
    if (!this.chosen) byId("example-note").textContent = this.all.length ? `${count(found.length)} of ${plural(this.all.length, "example")}` : "This server has no examples.";
  }

  /** Choose by id; whether there is such an example. */
  choose(id) {
    const found = this.all.find((one) => one.id === id);
    if (!found) return false;
    this.chosen = found;
    this.select.value = id;
    this.onChoose(found);
    this.describe(found);
    return true;
  }

  async describe(chosen) {
    const note = byId("example-note");
    note.textContent = about(chosen);
    try {
      const { facts } = await api.example(chosen.id);
      if (this.chosen === chosen) note.textContent = `${about(chosen)}, ${plural(facts.length, "candidate")}`;
    } catch {
      // the number of candidates is a mere note; asking reports what is wrong
    }
  }
}

const about = ({ type, structure, answerable }) => [type, structure, answerable ? "" : "not answerable"].filter(Boolean).join(", ");
