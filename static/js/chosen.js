/* Lists of which some lines are chosen: one box for all of the page, how many are chosen, and buttons that wait until
   somebody is.
   form[data-chosen]          holds the buttons; the boxes stand in it, or name it (form="...")
   input[data-choose-all=ID]  the box for all boxes of the form ID
   [data-chosen-words]        says how many are chosen, once some are
   input[data-output=ID]      a slider, and where it is told what it stands at */
for (const form of document.querySelectorAll("form[data-chosen]")) {
  const all = document.querySelector(`[data-choose-all="${form.id}"]`);
  const boxes = [...form.elements].filter((field) => field.type === "checkbox" && field !== all);
  const buttons = [...form.querySelectorAll("button[name=do], button[name=action]")];
  const words = form.querySelector("[data-chosen-words]");
  const unchosen = words?.textContent;

  const tell = () => {
    const n = boxes.filter((box) => box.checked).length;
    if (all) all.checked = n > 0 && n === boxes.length;
    if (all) all.indeterminate = n > 0 && n < boxes.length;
    if (words) words.textContent = n ? `${n} ${words.dataset.chosenWords}:` : unchosen;
    for (const button of buttons) button.disabled = n === 0;
  };

  document.addEventListener("change", (event) => {
    if (event.target === all) for (const box of boxes) box.checked = all.checked;
    if (event.target === all || boxes.includes(event.target)) tell();
  });
  window.addEventListener("pageshow", tell);
  tell();
}

document.addEventListener("input", (event) => {
  const output = document.getElementById(event.target.dataset?.output ?? "");
  if (output) output.value = event.target.value;
});
