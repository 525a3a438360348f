// Requests to the server, with the token in a header: never in an address that somebody might log.

const kKey = "tacet-page-token";
const kPatience = 10_000;  // milliseconds for one answer

/** The server does not know the token. */
export class WrongToken extends Error {}

// The token lives as long as the tab: in memory where there is no storage.
let token = null;

/** Takes a token from the link (#token=...) and removes it from the address, else the tab's. */
export function startToken() {
  const given = new URLSearchParams(window.location.hash.slice(1)).get("token");
  if (given !== null) {
    window.history.replaceState(null, "", window.location.pathname);
    setToken(given);
    return;
  }
  try {
    token = window.sessionStorage.getItem(kKey);
  } catch {
    token = null;
  }
}

export function setToken(given) {
  token = given.trim() === "" ? null : given.trim();
  try {
    if (token === null) window.sessionStorage.removeItem(kKey);
    else window.sessionStorage.setItem(kKey, token);
  } catch {
    // It holds until the page is closed.
  }
}

export const hasToken = () => token !== null;

const send = (path, more = {}) => fetch(path, {
  ...more, headers: { ...more.headers, Authorization: `Bearer ${token}` },
  cache: "no-store", credentials: "omit", redirect: "error", referrerPolicy: "no-referrer",
  signal: AbortSignal.timeout(kPatience),
});

/** An operator's action: "" when it happened, else why it did not. */
export async function act(action) {
  try {
    const answer = await send("/api/act",
      { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(action) });
    return answer.ok ? "" : (await answer.text()).trim();
  } catch {
    return "the server did not answer: whether it happened shows here in a moment";
  }
}

/** GET as JSON. WrongToken when the server refuses the token; other errors when it is not there. */
export async function ask(path) {
  const answer = await send(path);
  if (answer.status === 401) throw new WrongToken();
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  return answer.json();
}
