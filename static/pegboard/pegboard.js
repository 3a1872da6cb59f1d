// What links and forms cannot do by themselves. Every page works without it.
(() => {
  const panel = () => document.getElementById("panel");

  // What a whole page says first is in focus, as what is swapped in is, unless a field is.
  if (document.activeElement === document.body && !document.querySelector("[autofocus]"))
    document.querySelector(".notices .notice")?.focus();

  // Ctrl-Enter sends a form from a field of several lines.
  document.addEventListener("keydown", (event) => {
    const field = event.target;
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || field.tagName !== "TEXTAREA") return;
    event.preventDefault();
    field.form.requestSubmit();
  });

  // Where tabs do not fit beside each other, the current one is in sight.
  document.addEventListener("htmx:load", () => {
    for (const tab of document.querySelectorAll(".tabs [aria-current]")) {
      const bar = tab.parentElement;
      const middle = tab.offsetLeft - bar.offsetLeft + tab.offsetWidth / 2;
      bar.scrollLeft = middle - bar.clientWidth / 2;
    }
  });

  // What was typed before htmx listened is searched for, too.
  document.addEventListener("htmx:load", (event) => {
    if (event.target !== document.body) return;
    for (const field of document.querySelectorAll("[hx-trigger*=input]:is(input, textarea), [hx-trigger*=input] :is(input, textarea)"))
      if (field.value !== field.defaultValue) field.dispatchEvent(new Event("input", { bubbles: true }));
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
      label.textContent = document.body.dataset.copied;
    } catch {
      label.textContent = document.body.dataset.copyFailed;
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
  document.addEventListener("htmx:sendError", () => say(document.body.dataset.unreachable));
  document.addEventListener("htmx:responseError", (event) => {
    const { status } = event.detail.xhr;
    const request = event.detail.xhr.getResponseHeader("X-Request-ID");
    const { failed, failedRequest } = document.body.dataset;
    say((request ? failedRequest : failed).replace("{status}", status).replace("{request}", request));
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    if (event.detail.successful) say("");
  });
})();
