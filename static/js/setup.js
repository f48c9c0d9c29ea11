/* Set-up pages. Everything here is an addition: the forms work without it.
   form[data-own-zone]    its time_zone becomes the browser's
   [data-kept]           its fields stay when another start is chosen
   [data-copy="id"]      a button that copies the value of a field
   table[data-categories] rows moved by buttons, by Alt+arrow keys or by drag; rows added in place
   table[data-matrix]    a symmetric matrix: a change of one cell is copied to its mirror */
(() => {
  "use strict";

  for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", async () => {
      const field = document.getElementById(button.dataset.copy);
      field.select();
      await navigator.clipboard?.writeText(field.value);
      button.textContent = button.dataset.done;
    });
  }

  // A new project lives where its maker does, until another zone is chosen.
  const zone = document.querySelector("form[data-own-zone] [name=time_zone]");
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone?.value === "UTC" && zone.list?.querySelector(`option[value="${CSS.escape(own)}"]`)) zone.value = own;

  // Another start keeps what was typed of the project.
  for (const link of document.querySelectorAll(".starts a")) {
    link.addEventListener("click", () => {
      const address = new URL(link.href);
      for (const field of document.querySelectorAll("[data-kept] :is(input, textarea)")) {
        if (field.value) address.searchParams.set(field.name, field.value);
      }
      link.href = address.href;
    });
  }

  for (const table of document.querySelectorAll("[data-categories]")) categories(table);
  for (const table of document.querySelectorAll("[data-matrix]")) matrix(table);

  function categories(table) {
    const body = table.tBodies[0];
    const form = table.closest("form");
    const total = form.querySelector(`[name="${table.dataset.prefix}-TOTAL_FORMS"]`);
    const blank = form.querySelector("template[data-category-row]");
    const output = form.querySelector("[data-categories-said]");
    const label = (row) => row.querySelector('[name$="-label"]').value || "…";
    let dragged = null;

    for (const row of body.rows) prepare(row);
    body.addEventListener("input", hint);

    form.querySelector("[data-add-row]").addEventListener("click", (event) => {
      event.preventDefault();
      const number = Number(total.value);
      const row = blank.content.querySelector("tr").cloneNode(true);
      for (const field of row.querySelectorAll("[name], [id], [for]")) {
        for (const name of ["name", "id", "for"]) {
          const text = field.getAttribute(name);
          if (text) field.setAttribute(name, text.replace("__prefix__", number));
        }
      }
      total.value = number + 1;
      body.append(row);
      prepare(row);
      renumber();
      row.querySelector('[name$="-label"]').focus();
    });

    function prepare(row) {
      const moves = row.querySelector(".categories__moves");
      if (!moves) return;
      const handle = row.querySelector("[data-handle]");
      moves.addEventListener("click", (event) => {
        const button = event.target.closest("[data-move]");
        if (button) move(row, Number(button.dataset.move), button);
      });
      row.addEventListener("keydown", (event) => {
        const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
        if (!by || !event.altKey) return;
        event.preventDefault();
        move(row, by, event.target);
      });
      handle.addEventListener("pointerdown", () => {
        row.draggable = true;
      });
      row.addEventListener("dragstart", (event) => {
        dragged = row;
        event.dataTransfer.effectAllowed = "move";
        row.classList.add("categories__row--dragged");
      });
      row.addEventListener("dragover", (event) => {
        if (!dragged || dragged === row) return;
        event.preventDefault();
        const box = row.getBoundingClientRect();
        row[event.clientY > box.top + box.height / 2 ? "after" : "before"](dragged);
      });
      row.addEventListener("dragend", () => {
        row.draggable = false;
        row.classList.remove("categories__row--dragged");
        dragged = null;
        renumberAndAnnounce(row);
      });
    }

    function move(row, by, focus) {
      const other = by < 0 ? row.previousElementSibling : row.nextElementSibling;
      if (!other) return;
      other[by < 0 ? "before" : "after"](row);
      renumberAndAnnounce(row);
      focus.focus();
    }

    function renumberAndAnnounce(row) {
      renumber();
      const place = [...body.rows].indexOf(row) + 1;
      output.textContent = table.dataset.moved.replace("%s", label(row)).replace("%s", place);
    }

    function renumber() {
      hint();
      [...body.rows].forEach((row, place) => {
        const order = row.querySelector('[name$="-ORDER"]');
        if (order) order.value = place + 1;
      });
    }

    // As question_rules.keys_at_the_desk gives them.
    function hint() {
      const keys = [...body.querySelectorAll('[name$="-hotkey"]')];
      const taken = keys.map((key) => key.value.toLowerCase());
      const free = [...table.dataset.freeKeys].filter((key) => !taken.includes(key));
      for (const key of keys.filter((key) => !key.value)) key.placeholder = free.shift() ?? "";
    }
  }

  function matrix(table) {
    table.addEventListener("input", (event) => {
      const [, row, column] = event.target.name.split("-");
      const mirror = table.querySelector(`[name="cell-${column}-${row}"]`);
      if (mirror && mirror !== event.target) mirror.value = event.target.value;
    });
  }
})();
