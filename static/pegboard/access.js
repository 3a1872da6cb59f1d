// The matrix of Access: changes that are not saved yet live through searching, paging and looking at
// them; arrow keys go from hole to hole; "All" checks what is shown. Without it a window at a time works.
(() => {
  const KEY = "pegboard-access-pending";
  const REVERSE = { grant: "revoke", open: "close", restrict: "unrestrict" };
  const form = document.querySelector("[data-matrix]");

  const remember = (lines) => {
    try {
      if (lines.length) sessionStorage.setItem(KEY, JSON.stringify(lines));
      else sessionStorage.removeItem(KEY);
    } catch {
      // Without storage the changes last as long as the page.
    }
  };
  const remembered = () => {
    try {
      return JSON.parse(sessionStorage.getItem(KEY)) || [];
    } catch {
      return [];
    }
  };

  // What was looked at from the matrix and saved is not pending any longer.
  if (document.querySelector("[data-saved]")) remember([]);
  if (!form) return;

  let pending = new Set(remembered());
  const boxes = () => [...form.querySelectorAll("input.hole")];
  const line = (box, checked) => `${checked ? box.name : REVERSE[box.name]}|${box.value}||`;
  const was = (box) => box.hasAttribute("data-was");

  function note(box) {
    pending.delete(line(box, true));
    pending.delete(line(box, false));
    if (box.checked !== was(box)) pending.add(line(box, box.checked));
  }

  // A window that has just been made shows what is pending; what has come true meanwhile is dropped.
  function show() {
    for (const box of boxes()) {
      if (pending.has(line(box, true))) box.checked = true;
      if (pending.has(line(box, false))) box.checked = false;
      note(box);
    }
    tell();
  }

  function tell() {
    const number = pending.size;
    remember([...pending]);
    form.querySelector("[data-pending]").value = [...pending].join("\n");
    form.querySelector("[data-looking]").classList.toggle("has-changes", number > 0);
    form.querySelector("[data-forget]").hidden = !number;
    const { none, one, many } = form.dataset;
    const text = number === 1 ? one : number ? many.replace("{number}", number) : none;
    form.querySelector("[data-count]").textContent = text;
    form.querySelector("[type=submit].primary").disabled = !number;
  }

  form.addEventListener("change", (event) => {
    if (!event.target.matches("input.hole")) return;
    note(event.target);
    tell();
  });

  form.addEventListener("click", (event) => {
    const all = event.target.closest("[data-all-of]");
    if (all) {
      event.preventDefault();
      checkAll(all.dataset.allOf, all.dataset.check);
    }
    if (event.target.closest("[data-forget]")) {
      pending = new Set();
      for (const box of boxes()) box.checked = was(box);
      tell();
    }
  });

  // "select" and "clear" say what is meant; without either, all are checked, or none if all were.
  function checkAll(side, check) {
    const some = boxes().filter(
      (box) => box.name === "grant" && (side.endsWith("|") ? box.value.startsWith(side) : box.value.endsWith(side)),
    );
    const checked = check ? check === "select" : some.some((box) => !box.checked);
    for (const box of some) {
      box.checked = checked;
      note(box);
    }
    tell();
  }

  // Arrow keys: left and right in a row, up and down in a column.
  form.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    const cell = event.target.closest("td");
    if (!step || !cell || !event.target.matches("input.hole")) return;
    event.preventDefault();
    const rows = [...form.querySelectorAll("table.matrix tr")];
    let row = rows.indexOf(cell.parentElement);
    let column = cell.cellIndex;
    for (;;) {
      row += step[0];
      column += step[1];
      const next = rows[row]?.cells[column];
      if (!next) return;
      const box = next.querySelector("input.hole");
      if (box) return box.focus();
    }
  });

  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target.id === "board") show();
  });
  show();
})();
