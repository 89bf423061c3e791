// The API in words, from /openapi.json: each route with its request and responses, and each type with its fields.

import { byId, el, say } from "./dom.js";

const EXAMPLES = {
  "/v1/answer": { question: "Which film by the director of Alien came out in 1982?" },
  "/v1/batch": { requests: [{ question: "Who directed Fargo?" }, { question: "Who made it?", facts: ["Ann made it."] }] },
};

async function start() {
  try {
    const response = await fetch("openapi.json");
    show(await response.json());
  } catch {
    say(byId("status"), "The description cannot be loaded: the server cannot be reached.");
  }
}

function show({ paths, components }) {
  const routes = Object.entries(paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, about]) => route(path, method, about)));
  byId("routes").append(...routes);
  byId("types").append(...Object.entries(components.schemas).filter(([name]) => !/ValidationError/.test(name)).map(([name, schema]) => type(name, schema)));
}

function route(path, method, about) {
  const body = about.requestBody?.content["application/json"].schema;
  const responses = Object.entries(about.responses).map(([status, { description, content }]) =>
    el("tr", {}, el("td", {}, el("code", {}, status)), el("td", {}, description), el("td", {}, name(content?.["application/json"]?.schema))));
  return el("section", { class: "card" },
    el("h2", {}, el("code", {}, `${method.toUpperCase()} ${path}`)),
    el("p", {}, about.description ?? about.summary),
    body && el("p", {}, "Request: ", name(body)),
    EXAMPLES[path] && el("pre", { tabindex: 0 }, el("code", {}, curl(path))),
    el("div", { class: "wide" }, el("table", {}, el("thead", {}, el("tr", {}, ["status", "meaning", "body"].map((head) => el("th", { scope: "col" }, head)))), el("tbody", {}, responses))));
}

const curl = (path) => `curl ${new URL(path.slice(1), location.href).href} -H 'Content-Type: application/json' \\\n  -d '${JSON.stringify(EXAMPLES[path])}'`;

function type(title, schema) {
  const required = new Set(schema.required ?? []);
  const rows = Object.entries(schema.properties ?? {}).map(([field, one]) =>
    el("tr", {}, el("td", {}, el("code", {}, field)), el("td", {}, name(one)), el("td", {}, [one.description, required.has(field) ? "" : "optional"].filter(Boolean).join("; "))));
  return el("section", { class: "card", id: `type-${title}` }, el("h3", {}, title), schema.description && el("p", {}, schema.description),
    el("div", { class: "wide" }, el("table", {}, el("thead", {}, el("tr", {}, ["field", "type", "meaning"].map((head) => el("th", { scope: "col" }, head)))), el("tbody", {}, rows))));
}

/** The name of a type, as a link if it has a section of its own. */
function name(schema) {
  if (!schema) return "";
  const target = schema.$ref?.split("/").at(-1);
  if (target && !/ValidationError/.test(target)) return el("a", { href: `#type-${target}` }, target);
  if (target) return "Failure";
  if (schema.anyOf) return el("span", {}, schema.anyOf.flatMap((one, at) => (at ? [" or ", name(one)] : [name(one)])));
  if (schema.type === "array") return el("span", {}, "list of ", name(schema.items));
  if (schema.enum || schema.const) return (schema.enum ?? [schema.const]).map((one) => JSON.stringify(one)).join(" or ");
  return schema.type ?? "any";
}

start();
