// Django's admin without eval. Unfold's pages are written for Alpine's usual build, which makes
// functions of its attributes; its CSP build, which static/unfold/ puts in that one's place, reads
// them itself. It knows expressions only: no statements, arrow functions or globals. What Unfold
// writes beyond that is named here once, with what is evaluated instead.
(() => {
  "use strict";

  const REWRITTEN = [
    // The page's frame: its tabs, and whether the sidebar is open.
    [/^\{ (?:activeTab: '[^']*', )?sidebarMobileOpen: .*localStorage.*\}$/, "page()"],
    [/^activeTab = (?:getCurrentTab\(\) \|\| )?'([^']*)'; \$watch\('sidebarDesktopOpen', .*\);$/, "openTab('$1')"],
    [/^sidebarDesktopOpen = !sidebarDesktopOpen; localStorage\..*$/, "sidebarDesktopOpen = !sidebarDesktopOpen"],
    [/^activeTab && .*window\.location\.search$/, "addressWithTab()"],
    [/^window\.location\.href = \$el\.href \+ window\.location\.hash$/, "goWithTab($el.href)"],
    // The search for lists that Ctrl+K opens.
    [/^if \(!\$event\.metaKey && !\$event\.ctrlKey\) (selectItem\([a-z, ]*\))$/, "$event.metaKey || $event.ctrlKey || $1"],
  ];

  const evaluable = (expression) => {
    const line = expression.replace(/\s+/g, " ").trim();
    const [pattern, instead] = REWRITTEN.find(([each]) => each.test(line)) ?? [];
    return pattern ? line.replace(pattern, instead) : expression;
  };

  const page = () => ({
    activeTab: "",
    sidebarMobileOpen: false,
    sidebarDesktopOpen: (localStorage.getItem("sidebarDesktopOpen") ?? "1") === "1",
    init() {
      this.$watch("sidebarDesktopOpen", (open) => localStorage.setItem("sidebarDesktopOpen", open ? "1" : "0"));
    },
    openTab(first) {
      this.activeTab = (first && getCurrentTab()) || first;
    },
    addressWithTab() {
      const tab = this.activeTab && this.activeTab !== "general" ? `#${this.activeTab}` : "";
      return location.pathname + location.search + tab;
    },
    goWithTab(address) {
      location.href = address + location.hash;
    },
    // Rows of inlines that are dragged: app.js has these as globals.
    sortRecords: (event) => sortRecords(event),
    moveRecords: (event) => moveRecords(event),
  });

  document.addEventListener("alpine:init", () => {
    // Values that a component binds are functions already.
    Alpine.mapAttributes(({ name, value }) => ({
      name,
      value: name.startsWith("x-") && typeof value === "string" ? evaluable(value) : value,
    }));
    const components = { page, theme, searchForm, searchCommand };
    for (const [name, component] of Object.entries(components)) Alpine.data(name, component);
  });
})();
