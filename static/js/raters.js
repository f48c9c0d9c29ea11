/* The list of raters: one box for all of the page, how many are chosen, and what the slider stands at. */
const all = document.querySelector("#choose-all");
const form = document.querySelector("#raters-chosen");

if (all && form) {
  const boxes = [...form.querySelectorAll("input[name=rater][type=checkbox]")];
  const words = form.querySelector("[data-chosen-words]");
  const unchosen = words.textContent;
  const tell = () => {
    const n = boxes.filter((box) => box.checked).length;
    all.checked = n === boxes.length;
    all.indeterminate = n > 0 && n < boxes.length;
    words.textContent = n ? `${n} ${words.dataset.chosenWords}:` : unchosen;
  };
  all.addEventListener("change", () => {
    for (const box of boxes) box.checked = all.checked;
    tell();
  });
  form.addEventListener("change", tell);
  tell();
}

document.addEventListener("input", (event) => {
  const output = document.getElementById(event.target.dataset?.output ?? "");
  if (output) output.value = event.target.value;
});
