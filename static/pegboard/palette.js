// Ctrl-K or ⌘-K finds pages, tools and listings; "?" lists the shortcuts. Without it there is /find/.
(() => {
  const palette = document.getElementById("palette");
  const shortcuts = document.getElementById("shortcuts");
  const field = document.getElementById("palette-q");
  const single = document.getElementById("single-keys");
  if (!palette) return;

  let fresh = false; // whether what is listed belongs to what is typed
  let wanted = false; // Enter was pressed before it did
  const options = () => [...palette.querySelectorAll("[role=option]")];
  const active = () => palette.querySelector("[aria-selected=true]");

  function choose(option) {
    active()?.setAttribute("aria-selected", "false");
    if (!option) return field.removeAttribute("aria-activedescendant");
    option.setAttribute("aria-selected", "true");
    option.scrollIntoView({ block: "nearest" });
    field.setAttribute("aria-activedescendant", option.id);
  }

  function open() {
    if (palette.open || document.querySelector("dialog[open]")) return;
    palette.showModal();
    field.select();
    fresh = false;
    htmx.trigger(field, "show");
  }

  function step(by) {
    const all = options();
    if (all.length) choose(all[(all.indexOf(active()) + by + all.length) % all.length]);
  }

  field.addEventListener("input", () => (fresh = wanted = false));
  field.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      step(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter" && !event.isComposing) {
      event.preventDefault();
      if (fresh) active()?.click();
      else wanted = true;
    }
  });

  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target.id !== "palette-found") return;
    const [first] = options();
    fresh = (event.detail.requestConfig.parameters.q ?? "") === field.value;
    field.setAttribute("aria-expanded", String(Boolean(first)));
    choose(first);
    if (!wanted || !fresh) return;
    wanted = false;
    first?.click();
  });
  const trouble = (shown) => (palette.querySelector("[data-palette-trouble]").hidden = !shown);
  for (const name of ["htmx:sendError", "htmx:responseError"]) field.addEventListener(name, () => trouble(true));
  field.addEventListener("htmx:afterRequest", (event) => event.detail.successful && trouble(false));

  document.addEventListener("click", (event) => {
    if (event.target === palette || event.target === shortcuts) event.target.close();
    if (event.target.closest("[data-open-shortcuts]")) {
      palette.close();
      shortcuts.showModal();
    }
    if (!event.target.closest("[data-open-palette]") || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    open();
  });

  const remembered = () => {
    try {
      return localStorage.getItem("single-keys") !== "off";
    } catch {
      return true;
    }
  };
  single.checked = remembered();
  single.addEventListener("change", () => {
    try {
      localStorage.setItem("single-keys", single.checked ? "on" : "off");
    } catch {
      // Without storage the choice lasts as long as the page.
    }
  });

  let going = 0;
  document.addEventListener("keydown", (event) => {
    const key = event.key.toLowerCase();
    if (key === "k" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      return palette.open ? palette.close() : open();
    }
    const typing = event.target.closest("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]");
    if (typing || event.ctrlKey || event.metaKey || event.altKey || !single.checked) return;
    if (document.querySelector("dialog[open]")) return;
    if (Date.now() < going) {
      going = 0;
      return shortcuts.querySelector(`[data-go="${CSS.escape(key)}"]`)?.click();
    }
    if (key === "g") going = Date.now() + 1200;
    if (key === "?") shortcuts.showModal();
    if (key === "/") {
      const main = document.querySelector("[data-main-field]");
      if (!main) return;
      event.preventDefault();
      main.focus();
      main.select();
    }
  });

  if (/mac|iphone|ipad/i.test(navigator.platform))
    for (const one of document.querySelectorAll("kbd")) if (one.textContent.startsWith("Ctrl")) one.textContent = one.textContent.replace("Ctrl", "⌘");
})();
