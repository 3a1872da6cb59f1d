// Runs before the first paint, so that a remembered theme does not flash. "system" is remembered as nothing.
(() => {
  const root = document.documentElement;
  const remembered = () => {
    try {
      return localStorage.getItem("theme") || "system";
    } catch {
      return "system";
    }
  };
  const show = (theme) => {
    if (theme === "system") delete root.dataset.theme;
    else root.dataset.theme = theme;
  };
  show(remembered());

  document.addEventListener("DOMContentLoaded", () => {
    for (const choice of document.querySelectorAll("input[name=theme]")) {
      choice.checked = choice.value === remembered();
      choice.addEventListener("change", () => {
        show(choice.value);
        try {
          localStorage.setItem("theme", choice.value);
        } catch {
          // Without storage the choice lasts as long as the page.
        }
      });
    }
  });
})();
