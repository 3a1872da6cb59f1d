// MCP Apps: a server's page in a sandboxed frame, and the messages that it may exchange with Pegboard.
// Its origin is opaque, so a message is told apart by the window that it comes from. What is not below is refused.
(() => {
  const VERSION = "2026-01-26";
  const REFUSED = { code: -32601, message: "Pegboard does not do this for apps." };
  const LONGEST_MESSAGE = 1_000_000;
  const MOST_HEIGHT = 640;
  const MOST_AT_ONCE = 4;
  const AGAIN_MS = 2000;
  const underWay = new WeakMap();

  const post = (frame, message) => frame.contentWindow?.postMessage({ jsonrpc: "2.0", ...message }, "*");
  const part = (frame, name) => frame.closest(".chat-app").querySelector(`[${name}]`);
  const pause = () => new Promise((go) => setTimeout(go, AGAIN_MS));

  function theme() {
    const chosen = document.documentElement.dataset.theme;
    return chosen || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  }

  const initialize = (frame) => ({
    protocolVersion: VERSION,
    hostInfo: { name: "pegboard", title: "Pegboard", version: "1" },
    hostCapabilities: { openLinks: {}, serverTools: {} },
    hostContext: {
      theme: theme(),
      locale: document.documentElement.lang,
      timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      platform: "web",
      displayMode: "inline",
      availableDisplayModes: ["inline"],
      containerDimensions: { width: frame.clientWidth, maxHeight: MOST_HEIGHT },
    },
  });

  async function show(frame) {
    const answer = await fetch(`${frame.dataset.app}call/`);
    if (!answer.ok) return;
    const state = await answer.json();
    post(frame, { method: "ui/notifications/tool-input", params: { arguments: state.arguments } });
    post(frame, { method: "ui/notifications/tool-result", params: state.result });
  }

  // The same call is asked for until it has ended: it may wait for a person.
  async function call(frame, params) {
    const running = underWay.get(frame) ?? 0;
    if (running >= MOST_AT_ONCE) throw { code: -32000, message: "Too many calls at once." };
    underWay.set(frame, running + 1);
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    const once = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    const waits = part(frame, "data-app-approval");
    try {
      for (; frame.isConnected; await pause()) {
        const answer = await fetch(`${frame.dataset.app}call/`, {
          method: "POST",
          headers: {
            "Content-Type": "application/json",
            "X-CSRFToken": document.querySelector("[name=csrfmiddlewaretoken]").value,
          },
          body: JSON.stringify({ once, name: params?.name, arguments: params?.arguments ?? {} }),
        });
        if (!answer.ok) throw { code: -32000, message: `The call failed (${answer.status}).` };
        const state = await answer.json();
        if (state.error) throw state.error;
        if (state.result) return state.result;
        waits.hidden = !state.waits_for_approval;
        waits.querySelector("code").textContent = state.name;
        waits.querySelector("a").href = `${frame.dataset.approvals}${state.waits_for_approval}/`;
      }
      throw { code: -32000, message: "The app is gone." };
    } finally {
      waits.hidden = true;
      underWay.set(frame, underWay.get(frame) - 1);
    }
  }

  // Only the person's own click opens it.
  function openLink(frame, params) {
    const url = URL.canParse(params?.url) ? new URL(params.url) : null;
    if (!url || !["https:", "http:"].includes(url.protocol)) throw { code: -32602, message: "No address of the web." };
    const asks = part(frame, "data-app-link");
    if (!asks.hidden) throw { code: -32000, message: "Another address is being asked about." };
    asks.querySelector("code").textContent = url.href;
    const [link, cancel] = asks.querySelectorAll("a, button");
    link.href = url.href;
    asks.hidden = false;
    return new Promise((answer) => {
      const end = (isError) => () => {
        asks.hidden = true;
        answer(isError ? { isError } : {});
      };
      link.onclick = end(false);
      cancel.onclick = end(true);
    });
  }

  const REQUESTS = { "ui/initialize": initialize, ping: () => ({}), "tools/call": call, "ui/open-link": openLink };

  async function answer(frame, { id, method, params }) {
    try {
      if (!Object.hasOwn(REQUESTS, method)) throw REFUSED;
      post(frame, { id, result: await REQUESTS[method](frame, params) });
    } catch (problem) {
      post(frame, { id, error: { code: problem.code ?? -32603, message: problem.message } });
    }
  }

  function hear(frame, message) {
    if (message?.jsonrpc !== "2.0" || typeof message.method !== "string") return;
    if (JSON.stringify(message).length > LONGEST_MESSAGE) return;
    if (message.id !== undefined) answer(frame, message);
    else if (message.method === "ui/notifications/initialized") show(frame);
    else if (message.method === "ui/notifications/size-changed") {
      const height = Number(message.params?.height);
      if (height > 0) frame.style.height = `${Math.min(Math.ceil(height) + 2, MOST_HEIGHT)}px`;
    }
  }

  window.addEventListener("message", (event) => {
    if (event.origin !== "null") return;
    const frames = document.querySelectorAll("iframe[data-app]");
    const frame = [...frames].find((each) => each.contentWindow === event.source);
    if (frame) hear(frame, event.data);
  });

  // Only now is somebody there to hear the first message.
  function load() {
    for (const frame of document.querySelectorAll("iframe[data-app]:not([src])")) frame.src = frame.dataset.app;
  }

  document.addEventListener("DOMContentLoaded", load);
  document.addEventListener("htmx:load", load);
})();
