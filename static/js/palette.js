/* Ctrl+K finds and goes anywhere; ? lists the keys; g and a letter go to a line of the rail (data-go).

   Single keys (? and g) do nothing while something is typed, while a dialog is open, at the desk (which has its own), and
   where single-key shortcuts are off: the switch of the desk and of the list of keys is one. */
(() => {
  "use strict";

  const palette = document.getElementById("palette");
  const help = document.getElementById("keys-help");
  if (!palette || !help) return;
  const field = palette.querySelector("input[type=search]");
  const results = palette.querySelector(".palette__found");
  const SWITCH = "concord:desk:keys";
  const PATIENCE = 120; // ms between the last letter and the question
  const SEQUENCE = 1500; // ms between g and the letter

  // --- the palette

  let asked = 0;
  let timer = 0;
  let shown = null; // what the lines answer: they stay, and the focus with them, until something else is asked

  async function ask() {
    const number = ++asked;
    const query = new URLSearchParams(new FormData(field.form)).toString();
    if (query === shown) return;
    try {
      const answer = await fetch(`${palette.dataset.find}?${query}`, { headers: { "X-Palette": "1" } });
      // Signed out meanwhile: the page behind the link says so.
      if (!answer.ok || answer.redirected) return;
      const lines = await answer.text();
      if (number !== asked) return;
      const parsed = new DOMParser().parseFromString(lines, "text/html");
      results.replaceChildren(...parsed.body.childNodes);
      shown = query;
    } catch {
      /* offline: the form still sends */
    }
  }

  const lines = () => [...results.querySelectorAll("a")];

  function step(by) {
    const all = [field, ...lines()];
    const next = all.indexOf(document.activeElement) + by;
    all[(next + all.length) % all.length].focus();
  }

  function open(dialog) {
    if (document.querySelector("dialog[open]")) return;
    for (const menu of document.querySelectorAll("[popover]:popover-open")) menu.hidePopover();
    dialog.showModal();
    if (dialog !== palette) return;
    field.select();
    ask();
  }

  field.addEventListener("input", () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(ask, PATIENCE);
  });

  field.form.addEventListener("submit", (event) => {
    const first = lines()[0];
    if (!first || !field.value.trim()) return;
    event.preventDefault();
    first.click();
  });

  palette.addEventListener("keydown", (event) => {
    // In a field to search in, browsers would empty it first.
    if (event.key === "Escape") {
      event.preventDefault();
      palette.close();
    }
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    step(by);
  });

  for (const dialog of [palette, help]) {
    // A click beside it: on the dialog itself, whose content fills it.
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog) dialog.close();
    });
  }

  document.addEventListener("click", (event) => {
    const opener = event.target.closest?.("[data-opens]");
    if (!opener || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    open(document.getElementById(opener.dataset.opens));
  });
  for (const opener of document.querySelectorAll("[data-opens]")) opener.hidden = false;

  // --- single keys, and the switch that they share with the desk

  function keysWork() {
    try {
      return window.localStorage.getItem(SWITCH) !== "off";
    } catch {
      return true;
    }
  }

  const box = help.querySelector("[data-keys]");
  help.addEventListener("toggle", () => (box.checked = keysWork()));
  box.checked = keysWork();
  box.addEventListener("change", () => {
    try {
      window.localStorage.setItem(SWITCH, box.checked ? "on" : "off");
    } catch {
      /* storage is switched off: keys work */
    }
    document.dispatchEvent(new CustomEvent("keys-switched"));
  });

  const list = help.querySelector(".keys-help__list");
  const ofPage = document.getElementById("page-keys"); // a template: what else works here
  if (ofPage) list.append(ofPage.content.cloneNode(true));
  const atDesk = document.querySelector(".page--desk") !== null;
  for (const line of atDesk ? [] : document.querySelectorAll("[data-go]")) {
    const row = document.createElement("div");
    const keys = document.createElement("dt");
    const words = document.createElement("dd");
    for (const key of ["G", line.dataset.go.toUpperCase()]) {
      const cap = document.createElement("kbd");
      cap.textContent = key;
      keys.append(cap, " ");
    }
    words.textContent = line.firstChild.textContent.trim();
    row.append(keys, words);
    list.append(row);
  }

  let began = -Infinity;

  function go(event) {
    const line = document.querySelector(`[data-go="${CSS.escape(event.key.toLowerCase())}"]`);
    const inTime = event.timeStamp - began < SEQUENCE;
    began = event.key.toLowerCase() === "g" && !inTime ? event.timeStamp : -Infinity;
    if (!inTime || !line) return;
    event.preventDefault();
    window.location.assign(line.href);
  }

  const isTyping = (element) =>
    element.matches?.("textarea, select, input:not([type=radio], [type=checkbox])") || element.isContentEditable;

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || event.altKey) return;
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k" && !event.shiftKey) {
      event.preventDefault();
      if (palette.open) palette.close();
      else open(palette);
      return;
    }
    if (event.ctrlKey || event.metaKey || event.repeat || event.key.length !== 1) return;
    if (isTyping(event.target) || document.querySelector("dialog[open]") || !keysWork()) return;
    if (event.key === "?") {
      event.preventDefault();
      open(help);
    } else if (!atDesk) go(event);
  });
})();
