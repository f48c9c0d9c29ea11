/* Small things that every page may use, by attribute:
   form[data-confirm="text"]   asks before it is sent
   select[data-submit]         sends its form when changed (the form keeps its button without JavaScript)
   [data-poll="1"]             gets the event "poll" every so many seconds, while the page is seen (hx-trigger="poll") */
(() => {
  "use strict";

  document.addEventListener("submit", (event) => {
    const question = event.target.dataset.confirm;
    if (question && !window.confirm(question)) event.preventDefault();
  });

  document.addEventListener("change", (event) => {
    if (event.target.matches("select[data-submit]")) event.target.form.requestSubmit();
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
