/* Keys and buttons for the media of an item: play or pause, back and forward, speed; for an image zoom. Without this
   script the player's own controls and the link to the image work. */
(() => {
  "use strict";

  const STEP_SECONDS = 5;
  const SPEEDS = [0.5, 0.75, 1, 1.25, 1.5, 1.75, 2];
  const ZOOMS = [1, 1.5, 2, 3, 4, 6];
  const SPEED_KEY = "concord:desk:speed";
  const holder = document.getElementById("desk-sheet");
  if (!holder) return;

  const medium = (stage) => stage.querySelector("audio, video, img");
  const level = (stage, text) => {
    const output = stage.querySelector(".stage__level");
    if (output) output.textContent = text;
  };

  /** What the keys act on: what plays, else what was used last, else the first medium. */
  function currentStage() {
    const stages = [...holder.querySelectorAll("[data-medium]")];
    return (
      stages.find((stage) => medium(stage).paused === false) ??
      stages.find((stage) => stage.contains(document.activeElement)) ??
      stages.find((stage) => stage === lastStage) ??
      stages[0]
    );
  }

  let lastStage = null;

  function storedSpeed() {
    try {
      return Number(window.localStorage.getItem(SPEED_KEY)) || 1;
    } catch {
      return 1;
    }
  }

  function setSpeed(stage, speed) {
    medium(stage).playbackRate = speed;
    medium(stage).preservesPitch = true;
    level(stage, `${speed}×`);
    try {
      window.localStorage.setItem(SPEED_KEY, speed);
    } catch {
      /* only not remembered */
    }
  }

  /** In the frame of the image, which scrolls. The middle of what is seen stays in the middle. */
  function setZoom(stage, zoom) {
    const image = medium(stage);
    const view = stage.querySelector(".stage__view");
    const middle = { x: (view.scrollLeft + view.clientWidth / 2) / view.scrollWidth, y: (view.scrollTop + view.clientHeight / 2) / view.scrollHeight };
    if (!(Number(stage.dataset.zoom) > 1)) image.dataset.fit = image.clientWidth;
    stage.dataset.zoom = zoom;
    image.style.width = zoom > 1 ? `${image.dataset.fit * zoom}px` : "";
    view.scrollTo(middle.x * view.scrollWidth - view.clientWidth / 2, middle.y * view.scrollHeight - view.clientHeight / 2);
    level(stage, `${Math.round(zoom * 100)}%`);
  }

  function step(values, current, by) {
    const place = values.findIndex((value) => value >= current - 0.01);
    return values[Math.min(Math.max((place < 0 ? values.length - 1 : place) + by, 0), values.length - 1)];
  }

  function change(stage, by) {
    if (stage.dataset.medium === "image") setZoom(stage, step(ZOOMS, Number(stage.dataset.zoom) || 1, by));
    else setSpeed(stage, step(SPEEDS, medium(stage).playbackRate, by));
  }

  function seek(stage, seconds) {
    const player = medium(stage);
    const end = Number.isFinite(player.duration) ? player.duration : Infinity;
    player.currentTime = Math.min(Math.max(player.currentTime + seconds, 0), end);
  }

  function toggle(stage) {
    const player = medium(stage);
    if (stage.dataset.medium === "image") stage.querySelector("[data-enlarge]").click();
    else if (player.paused) player.play().catch(() => {});
    else player.pause();
  }

  function act(stage, name) {
    lastStage = stage;
    if (name === "large") toggle(stage);
    else if (name === "less" || name === "more") change(stage, name === "more" ? 1 : -1);
    else if (stage.dataset.medium !== "image") seek(stage, name === "back" ? -STEP_SECONDS : STEP_SECONDS);
    else return false;
    return true;
  }

  const KEYS = { " ": "large", ArrowLeft: "back", ArrowRight: "on", "⇧ArrowUp": "more", "⇧ArrowDown": "less" };

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.documentElement.classList.contains("keys-off") || document.querySelector("dialog[open]")) return;
    // Where a key has a meaning of its own: buttons, links, answers, fields and the player's own controls.
    if (event.target.closest("a, button, summary, input, textarea, select, audio, video")) return;
    const name = KEYS[(event.shiftKey ? "⇧" : "") + event.key];
    const stage = name && currentStage();
    if (stage && act(stage, name)) event.preventDefault();
  });

  holder.addEventListener("click", (event) => {
    const button = event.target.closest("[data-media]");
    if (button) act(button.closest("[data-medium]"), button.dataset.media);
  });

  // These events do not bubble.
  for (const type of ["play", "pause", "loadedmetadata"]) {
    holder.addEventListener(
      type,
      ({ target }) => {
        const stage = target.closest("[data-medium]");
        const button = stage?.querySelector("[data-media=large]");
        if (!button) return;
        if (type === "loadedmetadata" && storedSpeed() !== 1) setSpeed(stage, storedSpeed());
        if (type === "play") lastStage = stage;
        button.querySelector("span").textContent = target.paused ? button.dataset.play : button.dataset.pause;
      },
      true,
    );
  }
})();
