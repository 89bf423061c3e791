// Elements made of text, never of markup: facts, questions and answers are untrusted.

const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

/** An HTML element. Attributes that are functions listen to the event of their name; false and null are left out. */
export function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** An SVG element, as `el`. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== false)); // strings become text nodes
  return node;
}

/** Show a line of text, or hide the element if there is none. */
export function say(node, text) {
  node.textContent = text;
  node.hidden = !text;
}

/** 1234 → "1,234". */
export const count = (number) => number.toLocaleString("en-US");

/** "1 fact", "2 facts". */
export const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

/** A probability with two digits; what is not 1 never reads "1.00". */
export function probability(value) {
  if (value === null || value === undefined) return "unknown";
  return (value < 1 ? Math.min(value, 0.99) : value).toFixed(2);
}
