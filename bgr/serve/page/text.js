// Positions in texts. The server counts code points, and JavaScript UTF-16 units: all positions here are code points.

/** The part of a text between two positions. */
export const slice = (text, start, end) => Array.from(text).slice(start, end).join("");

/** A text cut at the edges of spans: [{text, marked}], in order. Overlapping spans are united. */
export function segments(text, spans) {
  const letters = Array.from(text);
  const marked = new Array(letters.length).fill(false);
  for (const { start, end } of spans) marked.fill(true, Math.max(0, start), end);
  const found = [];
  letters.forEach((letter, at) => {
    const last = found.at(-1);
    if (last && last.marked === marked[at]) last.text += letter;
    else found.push({ text: letter, marked: marked[at] });
  });
  return found;
}

/**
 * Lines of at most `width`, broken at spaces, and within words that are too long.
 * Returns [{start, end}]; at most `max` lines, and whether there is more.
 */
export function wrap(text, width, measure, max) {
  const letters = Array.from(text);
  const lines = [];
  let start = 0;
  while (start < letters.length) {
    while (start < letters.length && isSpace(letters[start])) start += 1;
    if (start === letters.length) break;
    if (lines.length === max) return { lines, more: true };
    const end = lineEnd(letters, start, width, measure);
    lines.push({ start, end });
    start = end;
  }
  return { lines, more: false };
}

function lineEnd(letters, start, width, measure) {
  let end = start;
  let space = -1; // the last position at which the line may be broken
  let line = "";
  while (end < letters.length) {
    line += letters[end];
    if (measure(line) > width && end > start) return space > start ? space : end;
    end += 1;
    if (end < letters.length && isSpace(letters[end])) space = end;
  }
  return end;
}

const isSpace = (letter) => /\s/.test(letter);
