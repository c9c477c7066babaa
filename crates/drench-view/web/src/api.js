// Requests to the server that sent the page. Paths are relative: the token is part of the page's own address.

/** An answer that says in words what is wrong. */
export class Refused extends Error {}

async function checked(response) {
  if (response.status === 204) throw Object.assign(new Refused("it is not there (yet)"), { status: 204 });
  if (response.ok) return response;
  let text = `${response.status} ${response.statusText}`;
  try {
    text = (await response.json()).error ?? text;
  } catch {
    // Not one of the server's own messages; the status will have to do.
  }
  throw Object.assign(new Refused(text), { status: response.status });
}

export const json = async (path) => (await checked(await fetch(path))).json();

export const bytes = async (path, signal) => (await checked(await fetch(path, { signal }))).arrayBuffer();

export const post = async (path, body) =>
  (await checked(await fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) }))).json();
