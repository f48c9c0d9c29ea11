/* The list of items: j and k walk through it, x ticks, Enter opens, Escape closes what is open beside it. htmx fetches the
   item (the links work without). The address follows, so that what is open can be shared and survives a reload. */
(() => {
  "use strict";

  const list = document.getElementById("item-list");
  if (!list) return;
  const pane = () => document.getElementById("item-pane");
  const rows = () => [...list.querySelectorAll("tbody tr")];
  const current = () => list.querySelector("tr[aria-current]");
  const boxes = () => [...list.querySelectorAll("tbody input[type=checkbox]")];
  const all = list.querySelector("[data-tick-all]");
  const ticked = document.getElementById("n-ticked");

  function mark(row) {
    current()?.removeAttribute("aria-current");
    row?.setAttribute("aria-current", "true");
    row?.scrollIntoView({ block: "nearest" });
  }

  function walk(step) {
    const every = rows();
    const next = every[every.indexOf(current()) + step];
    if (next) {
      next.querySelector("[data-open]").focus({ preventScroll: true });
      next.querySelector("[data-open]").click();
    } else if (step > 0) {
      document.querySelector(".pager a[rel=next]")?.focus();
    }
  }

  function close() {
    const link = pane().querySelector("[data-do=close]");
    if (!link) return;
    const row = current();
    window.history.replaceState(null, "", link.href);
    pane().replaceChildren();
    pane().classList.remove("is-open");
    row?.querySelector("[data-open]").focus({ preventScroll: true });
    mark(null);
  }

  function count() {
    const number = boxes().filter((box) => box.checked).length;
    for (const button of document.querySelectorAll("#chosen button[name=action]")) button.disabled = number === 0;
    if (ticked) ticked.textContent = String(number);
    if (all) {
      all.checked = number > 0 && number === boxes().length;
      all.indeterminate = number > 0 && !all.checked;
    }
  }

  list.addEventListener("htmx:beforeRequest", (event) => mark(event.target.closest("tr")));
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target.id !== "item-pane") return;
    const open = current()?.querySelector("[data-open]");
    if (open) window.history.replaceState(null, "", open.href.split("#")[0]);
    pane().scrollTop = 0;
  });

  const tools = { previous: () => walk(-1), next: () => walk(1), close };

  document.addEventListener("click", (event) => {
    const tool = event.target.closest("#item-pane [data-do]")?.dataset.do;
    if (!tool) return;
    event.preventDefault();
    tools[tool]();
  });

  list.addEventListener("change", (event) => {
    if (event.target === all) for (const box of boxes()) box.checked = all.checked;
    count();
  });

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches("textarea, select, input:not([type=checkbox])")) return;
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "j") walk(1);
    else if (event.key === "k") walk(-1);
    else if (event.key === "x") current()?.querySelector("input[type=checkbox]")?.click();
    else if (event.key === "Escape") close();
  });

  count();
})();
