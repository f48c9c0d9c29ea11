/* [data-drop]: a file that is dropped in the box goes into its file field, which says its name; without a script the field
   alone takes files. What is dropped beside the box opens in no place of the page. */
(() => {
  "use strict";

  const boxes = [...document.querySelectorAll("[data-drop]")];
  const holdsFiles = (event) => event.dataTransfer?.types.includes("Files");

  function take(field, files) {
    const taken = new DataTransfer();
    for (const file of field.multiple ? files : [...files].slice(0, 1)) taken.items.add(file);
    field.files = taken.files;
    field.dispatchEvent(new Event("change", { bubbles: true }));
  }

  for (const box of boxes) {
    const field = box.querySelector("input[type=file]");
    const fileNames = box.querySelector("[data-drop-said]");
    box.addEventListener("dragover", () => box.classList.add("is-over"));
    box.addEventListener("dragleave", (event) => {
      if (!box.contains(event.relatedTarget)) box.classList.remove("is-over");
    });
    box.addEventListener("drop", (event) => {
      box.classList.remove("is-over");
      if (holdsFiles(event) && event.dataTransfer.files.length) take(field, event.dataTransfer.files);
    });
    field.addEventListener("change", () => {
      fileNames.textContent = [...field.files].map((file) => file.name).join(", ");
    });
  }

  for (const kind of ["dragover", "drop"]) {
    document.addEventListener(kind, (event) => {
      if (holdsFiles(event)) event.preventDefault();
    });
  }
})();
