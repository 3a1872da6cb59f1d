// What links and forms cannot do by themselves. Every page works without it.
(() => {
  const panel = () => document.getElementById("panel");

  // Ctrl-Enter sends a form from a field of several lines.
  document.addEventListener("keydown", (event) => {
    const field = event.target;
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || field.tagName !== "TEXTAREA") return;
    event.preventDefault();
    field.form.requestSubmit();
  });

  // Fields that say nothing stay out of the address.
  document.addEventListener("htmx:configRequest", (event) => {
    const fields = event.detail.parameters;
    for (const [name, value] of Object.entries(fields)) if (value === "") delete fields[name];
  });

  // A link to one capability opens in the panel; the browser gives the focus back when it closes.
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target.id !== "panel-body") return;
    if (!panel().open) panel().showModal();
    panel().scrollTop = 0;
  });

  document.addEventListener("click", async (event) => {
    if (event.target === panel() || event.target.closest("[data-close-panel]")) panel().close();
    const starter = event.target.closest("[data-starter]");
    if (starter) useStarter(event, starter);
    const button = event.target.closest("[data-copy]");
    if (button) await copy(button);
  });

  function useStarter(event, link) {
    const field = document.querySelector("[data-main-field]");
    event.preventDefault();
    field.value = link.textContent.trim();
    field.focus();
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  async function copy(button) {
    const label = button.querySelector("[data-label]");
    const before = label.textContent;
    try {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
      label.textContent = "Copied";
    } catch {
      label.textContent = "Copy it by hand";
    }
    setTimeout(() => (label.textContent = before), 1600);
  }

  // A failed request says so where the answer would have been, and keeps what was there.
  const say = (text) => {
    const line = document.getElementById("trouble");
    if (!line) return;
    line.hidden = !text;
    line.querySelector("[data-text]").textContent = text;
  };
  document.addEventListener("htmx:sendError", () => say("Pegboard does not answer. What you see may be old; try again in a moment."));
  document.addEventListener("htmx:responseError", (event) => {
    const { status } = event.detail.xhr;
    const request = event.detail.xhr.getResponseHeader("X-Request-ID");
    const told = request ? ` If it stays so, tell an admin this request's id: ${request}.` : "";
    say(`Pegboard could not answer (${status}). What you see may be old; try again in a moment.${told}`);
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    if (event.detail.successful) say("");
  });
})();
