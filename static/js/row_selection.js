/* Selection of rows of a list: one checkbox for all rows of the page, the number of selected rows, and buttons that are
   disabled while none is selected.
   form[data-row-selection]   contains the buttons; the checkboxes are in it, or belong to it (form="...")
   input[data-select-all=ID]  the checkbox for all checkboxes of the form ID
   [data-selected-label]      shows the number of selected rows with this label, once there are any
   input[data-output=ID]      a slider, and the output that shows its value */
for (const form of document.querySelectorAll("form[data-row-selection]")) {
  const selectAll = document.querySelector(`[data-select-all="${form.id}"]`);
  const boxes = [...form.elements].filter((field) => field.type === "checkbox" && field !== selectAll);
  const buttons = [...form.querySelectorAll("button[name=do], button[name=action]")];
  const label = form.querySelector("[data-selected-label]");
  const emptyText = label?.textContent;

  const showSelection = () => {
    const n = boxes.filter((box) => box.checked).length;
    if (selectAll) selectAll.checked = n > 0 && n === boxes.length;
    if (selectAll) selectAll.indeterminate = n > 0 && n < boxes.length;
    if (label) label.textContent = n ? `${n} ${label.dataset.selectedLabel}:` : emptyText;
    for (const button of buttons) button.disabled = n === 0;
  };

  document.addEventListener("change", (event) => {
    if (event.target === selectAll) for (const box of boxes) box.checked = selectAll.checked;
    if (event.target === selectAll || boxes.includes(event.target)) showSelection();
  });
  window.addEventListener("pageshow", showSelection);
  showSelection();
}

document.addEventListener("input", (event) => {
  const output = document.getElementById(event.target.dataset?.output ?? "");
  if (output) output.value = event.target.value;
});
