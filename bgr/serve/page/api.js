// Requests to the server. Every failure is an ApiError with one line to show.

export class ApiError extends Error {
  /** @param kind "offline", "cancelled", "token", "busy" or "refused" */
  constructor(kind, message) {
    super(message);
    this.kind = kind;
  }
}

let token = "";

export function setToken(value) {
  token = value;
}

export const health = () => request("v1/health");
export const systems = () => request("v1/systems");
export const collections = () => request("v1/collections");
export const examples = () => request("v1/examples");
export const example = (id) => request(`v1/examples/${encodeURIComponent(id)}`);
export const answer = (question, signal) => request("v1/answer", { question, signal });

async function request(path, { question, signal } = {}) {
  const headers = { Accept: "application/json" };
  const options = { headers, signal, cache: "no-store" };
  if (question) {
    headers["Content-Type"] = "application/json";
    options.method = "POST";
    options.body = JSON.stringify(question);
  }
  if (token) headers.Authorization = `Bearer ${token}`;
  let response;
  let body;
  try {
    response = await fetch(path, options);
    body = await response.text();
  } catch (error) {
    if (error.name === "AbortError") throw new ApiError("cancelled", "Cancelled.");
    throw new ApiError("offline", "The server cannot be reached.");
  }
  return checked(response, parsed(body));
}

function parsed(body) {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function checked(response, body) {
  if (response.ok && body !== undefined) return body;
  const said = typeof body?.error === "string" ? body.error : `the server answered with status ${response.status}`;
  const seconds = response.headers.get("Retry-After");
  switch (response.status) {
    case 401:
      throw new ApiError("token", "The server needs a token; enter the right one and ask again.");
    case 429:
      throw new ApiError("busy", `The server is busy; try again in ${seconds ?? "a few"} s.`);
    case 502: // of a proxy in front of the server
    case 503:
      throw new ApiError("offline", "The server is stopping or not ready.");
    default:
      throw new ApiError("refused", `Refused: ${said}`);
  }
}
