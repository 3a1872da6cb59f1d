// "Test" on Connect: what a client does first, done from here as the person who looks: it opens the
// address, and asks for the list of tools.
(() => {
  const VERSION = "2025-06-18";

  async function post(address, message, session) {
    const answer = await fetch(address, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        Accept: "application/json, text/event-stream",
        "MCP-Protocol-Version": VERSION,
        "X-CSRFToken": document.querySelector("#test-address [name=csrfmiddlewaretoken]").value,
        ...(session ? { "Mcp-Session-Id": session } : {}),
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }),
    });
    const body = await answer.json();
    if (!answer.ok || body.error) throw new Error(body.error?.message || body.detail || answer.status);
    return [body.result, answer.headers.get("Mcp-Session-Id")];
  }

  async function test(button) {
    const said = document.getElementById("test-said");
    const { address, works, fails } = button.dataset;
    button.disabled = true;
    const begun = performance.now();
    try {
      const client = { name: "pegboard-test", version: "1" };
      const params = { protocolVersion: VERSION, capabilities: {}, clientInfo: client };
      const [, session] = await post(address, { method: "initialize", params });
      const [{ tools }] = await post(address, { method: "tools/list", params: {} }, session);
      const time = Math.round(performance.now() - begun);
      said.textContent = works.replace("{number}", tools.length).replace("{time}", time);
    } catch (problem) {
      said.textContent = fails.replace("{reason}", problem.message);
    }
    said.hidden = false;
    button.disabled = false;
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-test-address]");
    if (button) test(button);
  });
})();
