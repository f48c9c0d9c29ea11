/* The keys of the inbox: j and k walk through it, x selects one, e investigates the selected alerts or else this one,
   Enter opens. The links and buttons work without. */
(() => {
  "use strict";

  const table = document.querySelector("table[data-keys]");
  if (!table) return;
  const form = table.closest("form");
  const rows = [...table.tBodies[0].rows];
  const current = () => rows.find((row) => row.hasAttribute("aria-current"));

  function walk(step) {
    const next = rows[rows.indexOf(current()) + step];
    if (!next) return;
    current()?.removeAttribute("aria-current");
    next.setAttribute("aria-current", "true");
    next.querySelector("[data-open]").focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  }

  function investigate() {
    const box = current()?.querySelector("input[name=alert]");
    if (!form.querySelector("tbody input:checked") && box) box.click();
    const button = form.querySelector("button[value=investigate]");
    if (!button.disabled) form.requestSubmit(button);
  }

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches("textarea, select, input:not([type=checkbox])")) return;
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "j") walk(1);
    else if (event.key === "k") walk(-1);
    else if (event.key === "x") current()?.querySelector("input[type=checkbox]")?.click();
    else if (event.key === "e") investigate();
  });
})();
