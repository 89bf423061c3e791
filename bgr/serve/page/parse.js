// Facts from files: .txt (one a line), .csv (one column), .jsonl (a string, or an object with a text, a line).

const KEYS = ["text", "fact", "sentence"];
const KINDS = { txt: "text", csv: "table", tsv: "table", jsonl: "lines" };

export class FileProblem extends Error {}

/** The text of a file. Throws FileProblem with one line if it is too large or no UTF-8 text. */
export async function readFile(file, maxBytes) {
  if (!kindOf(file.name)) throw new FileProblem(`${file.name}: unknown kind of file; allowed: .txt, .csv, .tsv, .jsonl`);
  if (file.size > maxBytes) {
    const [size, allowed] = [file.size, maxBytes].map((bytes) => (bytes / 1e6).toFixed(1));
    throw new FileProblem(`${file.name}: ${size} MB, allowed: ${allowed} MB`);
  }
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    throw new FileProblem(`${file.name}: cannot be read as UTF-8 text`);
  }
  if (text.includes("\0")) throw new FileProblem(`${file.name}: holds NUL characters; save it as UTF-8 text`);
  return text;
}

const kindOf = (name) => KINDS[name.toLowerCase().split(".").pop()];

/** Runs of white space become one space, as the server reads facts. */
const tidy = (text) => text.replace(/\s+/gu, " ").trim();

export const factsOfLines = (text) => text.split(/\r\n|\r|\n/).map(tidy).filter(Boolean);

/**
 * What a file holds: {facts}, or for a table {rows, columns, column, header} to choose from (`factsOfColumn`).
 * Throws FileProblem.
 */
export function parseFile(name, text) {
  const kind = kindOf(name);
  const found = kind === "table" ? table(name, text) : { facts: kind === "lines" ? jsonLines(name, text) : factsOfLines(text) };
  const facts = found.facts ?? factsOfColumn(found);
  if (!facts.length) throw new FileProblem(`${name}: no facts; ${EXPECTED[kind]}`);
  return { ...found, facts };
}

const EXPECTED = {
  text: "one fact a line is expected",
  table: "a column with texts is expected",
  lines: "a text in each line is expected",
};

export function factsOfColumn({ rows, column, header }) {
  return rows.slice(header ? 1 : 0).map((row) => tidy(row[column] ?? "")).filter(Boolean);
}

function jsonLines(name, text) {
  const facts = [];
  text.split(/\r\n|\r|\n/).forEach((line, at) => {
    if (!line.trim()) return;
    let value;
    try {
      value = JSON.parse(line);
    } catch {
      throw new FileProblem(`${name}: line ${at + 1}: is not JSON`);
    }
    const fact = typeof value === "string" ? value : KEYS.map((key) => value?.[key]).find((one) => typeof one === "string");
    if (fact === undefined) {
      throw new FileProblem(`${name}: line ${at + 1}: no text; allowed: a string, or an object with ${KEYS.join(", ")}`);
    }
    if (tidy(fact)) facts.push(tidy(fact));
  });
  return facts;
}

function table(name, text) {
  const first = text.split(/\r\n|\r|\n/, 1)[0];
  const separator = [",", ";", "\t"].reduce((best, one) => (first.split(one).length > first.split(best).length ? one : best));
  const rows = records(name, text, separator).filter((row) => row.some((cell) => cell.trim()));
  if (!rows.length) return { facts: [] };
  const named = rows[0].findIndex((cell) => KEYS.includes(cell.trim().toLowerCase()));
  // a sentence in the first row: there are no names of columns
  const header = named >= 0 || (rows.length > 1 && !rows[0].some((cell) => /[.?!]$/.test(cell.trim())));
  const body = rows.slice(header ? 1 : 0);
  const width = Math.max(...rows.slice(0, 100).map((row) => row.length));
  const numbers = Array.from({ length: width }, (_, at) => at);
  const columns = numbers.map((at) => (header && rows[0][at]?.trim()) || `column ${at + 1}`);
  const isText = (at) => body.slice(0, 100).filter((row) => /\p{L}.*\s/u.test(row[at] ?? "")).length * 2 > Math.min(body.length, 100);
  const column = named >= 0 ? named : Math.max(0, numbers.findIndex(isText));
  return { rows, columns, column, header };
}

/** Records of a table by RFC 4180: cells in quotes may hold separators, line ends and doubled quotes. */
function records(name, text, separator) {
  const rows = [[]];
  const cell = new RegExp(`"([^"]*(?:""[^"]*)*)"|[^${separator}"\r\n][^${separator}\r\n]*|`, "y");
  for (let at = 0; at < text.length; ) {
    cell.lastIndex = at;
    const [whole, quoted] = cell.exec(text);
    at += whole.length;
    if (!whole && text[at] === '"') throw new FileProblem(`${name}: line ${lineOf(text, at)}: the quote is not closed`);
    rows.at(-1).push(quoted === undefined ? whole : quoted.replaceAll('""', '"'));
    if (at >= text.length) break;
    if (text[at] === separator) {
      at += 1;
      if (at === text.length) rows.at(-1).push("");
    } else if (text[at] === "\r" || text[at] === "\n") {
      at += text.startsWith("\r\n", at) ? 2 : 1;
      rows.push([]);
    } else {
      throw new FileProblem(`${name}: line ${lineOf(text, at)}: text after a closing quote`);
    }
  }
  return rows;
}

const lineOf = (text, at) => text.slice(0, at).split(/\r\n|\r|\n/).length;
