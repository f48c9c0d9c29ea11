/* Small things that every page may use, by attribute:
   form[data-confirm="text"]   asks before it is sent
   select[data-submit]         sends its form when changed (the form keeps its button without JavaScript)
   button[data-print]          prints the page, where a script can
   button[data-copy-address]   copies the address of this view: filter, question and weights stand in it
   time[data-moment="relative"]  tells how long ago it was, or the reader's own day; "exact": the reader's own time
   a[data-enlarge]             opens its picture over the page, as large as the window allows
   form[data-guard]            warns before unsaved changes are left, and says so in its [data-unsaved]
   [data-poll="1"]             gets the event "poll" every so many seconds, while the page is seen (hx-trigger="poll") */
(() => {
  "use strict";

  const tab = document.querySelector(".tabs [aria-current]");
  if (tab) tab.parentElement.scrollLeft = tab.offsetLeft - tab.parentElement.offsetLeft - 32;

  document.addEventListener("submit", (event) => {
    const question = event.target.dataset.confirm;
    if (question && !window.confirm(question)) event.preventDefault();
  });

  document.addEventListener("change", (event) => {
    if (event.target.matches("select[data-submit]")) event.target.form.requestSubmit();
  });

  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-enlarge]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    enlarge(link);
  });

  document.addEventListener("click", (event) => {
    if (event.target.closest?.("[data-print]")) window.print();
  });

  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.("[data-copy-address]");
    if (!button) return;
    await navigator.clipboard.writeText(window.location.href);
    button.textContent = button.dataset.done;
  });
  if (!navigator.clipboard) {
    for (const button of document.querySelectorAll("[data-copy-address]")) button.hidden = true;
  }

  /** As large as the window allows; pressed once more, in its own size. */
  function enlarge(link) {
    const dialog = document.createElement("dialog");
    const close = document.createElement("button");
    const frame = document.createElement("button");
    const picture = document.createElement("img");
    dialog.className = "enlarged";
    dialog.setAttribute("aria-label", link.title);
    close.className = "button enlarged__close";
    close.textContent = `${link.dataset.close} ×`;
    close.addEventListener("click", () => dialog.close());
    frame.className = "enlarged__picture";
    frame.setAttribute("aria-pressed", "false");
    frame.addEventListener("click", () => frame.setAttribute("aria-pressed", String(frame.ariaPressed !== "true")));
    picture.src = link.href;
    picture.alt = link.querySelector("img")?.alt ?? "";
    frame.append(picture);
    dialog.append(frame, close);
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }

  // A row of a table is as large a target as its link: what is pressed or selected itself stays so.
  document.addEventListener("click", (event) => {
    const row = event.target.closest?.(".table tbody tr");
    if (!row || event.target.closest("a, button, input, select, textarea, label, summary, [popover]")) return;
    if (!window.getSelection().isCollapsed) return;
    const { ctrlKey, metaKey, shiftKey } = event;
    row.querySelector("[data-open], th a")?.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, ctrlKey, metaKey, shiftKey }));
  });

  // --- a table that does not scroll is no stop on the way through the page, and its head stays in sight, below the
  // bar that does so too

  const MARGIN = 8; // pixels: the target of a sign in the last column reaches into the padding of the card

  function frames() {
    for (const region of document.querySelectorAll(".table-scroll")) {
      // What is folded away has no width, and is looked at when it opens.
      const wide = region.scrollWidth > region.clientWidth + MARGIN || !region.clientWidth;
      const tall = region.scrollHeight > region.clientHeight + MARGIN;
      region.classList.toggle("is-whole", !wide && !tall);
      // On a phone a frame that fits may still scroll by a few pixels (tables.css): then the keyboard must reach it.
      const scrolls = getComputedStyle(region).overflowX !== "visible" && region.scrollWidth > region.clientWidth;
      if (region.hasAttribute("tabindex")) region.tabIndex = wide || tall || scrolls ? 0 : -1;
    }
    const bars = [...document.querySelectorAll(".filters")];
    const heights = bars.map((bar) => (getComputedStyle(bar).position === "sticky" ? bar.offsetHeight : 0));
    document.documentElement.style.setProperty("--over", `${Math.max(0, ...heights)}px`);
  }

  window.addEventListener("resize", frames);
  document.addEventListener("toggle", frames, true);
  document.addEventListener("change", frames); // a bar may stay in sight once something is ticked
  document.addEventListener("htmx:afterSettle", frames);

  // --- a control that shows the same page otherwise leaves the reader where they are

  const PLACE = "concord:place";

  function keepPlace(address) {
    const target = new URL(address, window.location.href);
    if (target.pathname !== window.location.pathname || target.hash) return;
    if (target.search === window.location.search) return;
    try {
      const folds = [...document.querySelectorAll(".fold[id][open]")].map((fold) => fold.id);
      const place = { path: target.pathname + target.search, top: window.scrollY, folds };
      window.sessionStorage.setItem(PLACE, JSON.stringify(place));
    } catch {
      /* storage is switched off: the page begins at its top */
    }
  }

  function takePlace() {
    let place = null;
    try {
      place = JSON.parse(window.sessionStorage.getItem(PLACE));
      window.sessionStorage.removeItem(PLACE);
    } catch {
      return;
    }
    const here = window.location.pathname + window.location.search;
    if (place?.path !== here || window.location.hash) return;
    for (const id of place.folds) document.getElementById(id)?.setAttribute("open", "");
    window.scrollTo({ top: place.top, behavior: "instant" });
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    if (!link || link.target || event.defaultPrevented) return;
    // The next page of a list begins with its first line.
    if (link.closest(".pager")) return;
    keepPlace(link.href);
  });

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "get" || event.defaultPrevented) return;
    const asked = new URLSearchParams(new FormData(form, event.submitter));
    keepPlace(`${form.action.split(/[?#]/)[0]}?${asked}`);
  });

  takePlace();

  // --- a form[data-guard] warns before its changes are left; "changed" from the start: it came back with errors

  const guarded = new Map();
  const serialize = (form) => new URLSearchParams(new FormData(form)).toString();

  function isChanged(form) {
    return guarded.has(form) && (form.dataset.guard === "changed" || serialize(form) !== guarded.get(form));
  }

  function showUnsaved() {
    for (const form of guarded.keys()) {
      const state = form.querySelector("[data-unsaved]");
      const text = isChanged(form) ? state.dataset.unsaved : "";
      if (state.textContent !== text) state.textContent = text;
    }
  }

  for (const form of document.querySelectorAll("form[data-guard]")) {
    guarded.set(form, serialize(form));
    form.addEventListener("submit", () => guarded.delete(form));
  }
  for (const kind of ["input", "change", "click"]) document.addEventListener(kind, showUnsaved);
  showUnsaved();
  window.addEventListener("beforeunload", (event) => {
    if ([...guarded.keys()].some(isChanged)) event.preventDefault();
  });
  // Back to a page that the browser kept: what it shows was sent, perhaps not stored.
  window.addEventListener("pageshow", (event) => {
    if (!event.persisted) return;
    for (const form of document.querySelectorAll("form[data-guard]")) guarded.set(form, serialize(form));
  });

  // --- moments: the server writes them in the zone of the project, the reader's is known here alone

  const language = document.documentElement.lang || "en";
  const ago = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
  const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60]];

  function exact(moment) {
    const two = (number) => String(number).padStart(2, "0");
    const day = [moment.getFullYear(), two(moment.getMonth() + 1), two(moment.getDate())].join("-");
    return [day, `${two(moment.getHours())}:${two(moment.getMinutes())}`];
  }

  // Within a minute the text of the server, "just now", is still true.
  function passed(moment, text) {
    const seconds = (moment - Date.now()) / 1000;
    if (Math.abs(seconds) < 60) return text;
    if (Math.abs(seconds) >= 7 * 86400) return exact(moment)[0];
    const [unit, length] = UNITS.find(([, least]) => Math.abs(seconds) >= least);
    return ago.format(Math.trunc(seconds / length), unit).replace(/(\d)(?=[\u4e00-\u9fff])/, "$1 ");
  }

  function formatMoments() {
    for (const element of document.querySelectorAll("time[data-moment]")) {
      const moment = new Date(element.dateTime);
      const words = exact(moment).join(" ");
      element.title = words;
      const text = element.dataset.moment === "exact" ? words : passed(moment, element.textContent);
      if (element.textContent !== text) element.textContent = text;
    }
    frames(); // other words, other widths
  }

  formatMoments();
  document.addEventListener("htmx:load", formatMoments);

  /* A menu closes when something else, or one of its downloads, is pressed. */
  document.addEventListener("click", ({ target }) => {
    for (const menu of document.querySelectorAll(".views[open]")) {
      if (!menu.contains(target) || target.closest("[data-download]")) menu.open = false;
    }
  });

  const last = new WeakMap();

  function poll() {
    if (document.hidden) return;
    for (const element of document.querySelectorAll("[data-poll]")) {
      const now = performance.now();
      const every = 1000 * Number(element.dataset.poll);
      if (now - (last.get(element) ?? now - every) < every - 50) continue;
      last.set(element, now);
      element.dispatchEvent(new CustomEvent("poll"));
    }
  }

  window.setInterval(poll, 250);
  document.addEventListener("visibilitychange", poll);
})();
