/* The keys of the page of decisions: a category's key chooses it, Enter decides, the right arrow
   takes another item first. Not while somebody types a reason: there Ctrl+Enter decides. The reason survives a reload. */
(() => {
  "use strict";

  const form = document.getElementById("decision");
  if (!form) return;
  const reason = document.getElementById("reason");
  reason.value ||= sessionStorage.getItem(form.action) ?? "";
  reason.addEventListener("input", () => sessionStorage.setItem(form.action, reason.value));
  form.addEventListener("submit", () => sessionStorage.removeItem(form.action));

  document.addEventListener("keydown", (event) => {
    if (event.target.id === "reason" && event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      form.requestSubmit();
      return;
    }
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.target.matches("textarea, input:not([type=radio]), select, a, summary, button")) return;
    if (event.key === "Enter") {
      event.preventDefault();
      form.requestSubmit();
    } else if (event.key === "ArrowRight" && !event.target.matches("input")) {
      document.getElementById("later").requestSubmit();
    } else {
      const choice = [...form.querySelectorAll("input[data-key]")].find(
        (input) => input.dataset.key === event.key.toLowerCase(),
      );
      if (!choice) return;
      event.preventDefault();
      choice.checked = true;
      choice.focus();
    }
  });
})();
