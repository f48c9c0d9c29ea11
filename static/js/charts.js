/* Draws every figure.chart[data-chart]: fetches {spec, rows, locale}, puts them through Vega-Lite, keeps them in the colours of the
   page, and reads the rows anew when the page says "charts-changed". Runs under a strict Content-Security-Policy: specs
   come by fetch and expressions are interpreted, not compiled. */

// The libraries come once the page stands there: on a slow line they would take the room of its style.
const libraries = import(document.querySelector("script[data-libraries]").dataset.libraries);
libraries.catch(() => {}); // told by each chart that cannot be drawn

const drawn = new Map(); // figure -> {view, spec, rows, locale}

function colours() {
  const style = getComputedStyle(document.documentElement);
  const get = (name) => style.getPropertyValue(name).trim();
  return {
    text: get("--text"),
    muted: get("--muted"),
    line: get("--line"),
    faint: get("--faint"),
    surface: get("--surface"),
    accent: get("--accent"),
    look: get("--warn-dot"),
    hues: ["--accent", "--more", "--less", "--good", "--faint", "--bad"].map(get),
    heat: [get("--heat-low"), get("--heat-high")],
    params: {
      inkOnGround: get("--text"),
      inkOnFull: get("--heat-ink"),
      inkFlip: Number(get("--heat-flip")),
      diagonal: get("--sunken"),
    },
    font: getComputedStyle(document.body).fontFamily,
  };
}

function config(c) {
  const words = { labelColor: c.muted, titleColor: c.muted, labelFontSize: 11, titleFontSize: 11, titleFontWeight: 500 };
  return {
    background: c.surface,
    font: c.font,
    padding: 4,
    view: { stroke: null },
    // The canvas has a name, and the table stands beside it: marks would be read out one by one.
    mark: { aria: false },
    range: { heatmap: c.heat, category: c.hues },
    axis: { aria: false, ...words, gridColor: c.line, domain: false, tickColor: c.line, labelPadding: 6 },
    // Over the axis, where it is read without turning the head.
    axisYQuantitative: { titleAngle: 0, titleAlign: "left", titleAnchor: "end", titleBaseline: "bottom", titleX: 0, titleY: -10, ticks: false },
    legend: { aria: false, ...words },
    style: {
      accent: { color: c.accent },
      faint: { color: c.faint },
      look: { color: c.look },
      text: { color: c.text },
      tile: { stroke: c.surface, strokeWidth: 1 },
      figure: {},
    },
  };
}

function themed(spec, c) {
  const own = structuredClone(spec);
  for (const param of own.params ?? []) if (param.name in c.params) param.value = c.params[param.name];
  return own;
}

async function read(figure) {
  const answer = await fetch(figure.dataset.chart, { headers: { Accept: "application/json" } });
  if (!answer.ok || answer.redirected) throw new Error(`chart: ${answer.status}`);
  return answer.json();
}

async function draw(figure, { spec, rows, locale }) {
  const canvas = figure.querySelector(".chart__canvas");
  const target = document.createElement("div");
  target.className = "chart__view";
  const c = colours();
  const whole = { ...themed(spec, c), datasets: { rows }, width: Math.max(canvas.clientWidth, 120) };
  await libraries;
  const { view } = await window.vegaEmbed(target, whole, {
    ast: true,
    logLevel: 1, // errors
    actions: false,
    renderer: "svg",
    defaultStyle: false,
    config: config(c),
    tooltip: { disableDefaultStyle: true },
    formatLocale: locale.number,
    timeFormatLocale: locale.time,
  });
  drawn.get(figure)?.view.finalize();
  canvas.replaceChildren(target);
  drawn.set(figure, { view, spec: JSON.stringify(spec), rows, locale });
  figure.dataset.state = "drawn";
}

function failed(figure) {
  if (drawn.has(figure)) return; // the old picture is better than none
  figure.dataset.state = "failed";
  const waiting = figure.querySelector(".chart__waiting");
  if (waiting) waiting.hidden = true;
  const table = figure.parentElement.querySelector("details");
  if (table) table.open = true;
}

async function start(figure) {
  try {
    await draw(figure, await read(figure));
  } catch (error) {
    console.warn(error);
    failed(figure);
  }
}

/* In a fold that is closed nothing is seen, and nothing has a width. */
const folded = (figure) => figure.closest("details:not([open])");

async function refresh(figure) {
  const chart = drawn.get(figure);
  if (!chart) return folded(figure) ? undefined : start(figure);
  const fresh = await read(figure);
  if (JSON.stringify(fresh.spec) !== chart.spec) return draw(figure, fresh);
  chart.rows = fresh.rows;
  await chart.view.data("rows", fresh.rows).runAsync();
  return undefined;
}

async function download(button) {
  const figure = button.closest(".chart");
  const chart = drawn.get(figure);
  if (!chart) return;
  const form = button.dataset.download;
  let url;
  if (form === "svg") {
    url = URL.createObjectURL(new Blob([await chart.view.toSVG()], { type: "image/svg+xml" }));
  } else {
    url = await chart.view.toImageURL("png", 2);
  }
  const link = document.createElement("a");
  link.href = url;
  link.download = `${figure.dataset.file}.${form}`;
  link.click();
  if (form === "svg") window.setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/* Vega puts its tooltip at the end of the page unless it finds this element: inside the landmark it has a place. */
function placeTooltip() {
  const tip = document.createElement("div");
  tip.id = "vg-tooltip-element";
  tip.setAttribute("role", "tooltip");
  document.querySelector("main").append(tip);
}

const figures = () => document.querySelectorAll(".chart[data-chart]");

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-download]");
  if (button) download(button);
});

document.body.addEventListener("charts-changed", () => {
  for (const figure of figures()) refresh(figure).catch(console.warn);
});

function redraw() {
  for (const [figure, { spec, rows, locale }] of drawn) {
    if (!folded(figure)) draw(figure, { spec: JSON.parse(spec), rows, locale }).catch(console.warn);
  }
}

window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

let width = window.innerWidth;
let waiting;
window.addEventListener("resize", () => {
  if (window.innerWidth === width) return; // a phone's address bar only changes the height
  width = window.innerWidth;
  window.clearTimeout(waiting);
  waiting = window.setTimeout(redraw, 150);
});

if (figures().length) placeTooltip();
for (const figure of figures()) if (!folded(figure)) start(figure);

document.addEventListener(
  "toggle",
  (event) => {
    for (const figure of event.target.querySelectorAll?.(".chart[data-chart]") ?? []) {
      if (!folded(figure)) refresh(figure).catch(console.warn);
    }
  },
  true, // it does not bubble
);
