// Swagger UI's dark colours follow the theme of the other pages, before the first paint.
(() => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const show = () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : system.matches;
    root.classList.toggle("dark-mode", dark);
  };
  show();
  system.addEventListener("change", show);
})();
