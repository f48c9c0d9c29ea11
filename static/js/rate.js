/* The annotation page. It works without this script: every sheet is a plain form and every tool a plain link.
   With it: single keys, drafts that survive, one question at a time, and five sheets ready, so that the next item is there
   the moment an answer is submitted, also without a connection. Submitted answers stand in an outbox, which survives the
   page, until the server has them. What an answer leads to never replaces the item that the rater sees, unless that item
   was answered itself: keys typed in rhythm must not reach another item than the one they were meant for. */
(() => {
  "use strict";

  const desk = document.getElementById("desk");
  const holder = document.getElementById("desk-sheet");
  const status = document.getElementById("desk-status");
  const guidelines = document.getElementById("guidelines");
  const news = document.getElementById("desk-news");
  const heard = document.getElementById("desk-heard");
  if (!desk || !holder) return;

  const written = document.getElementById("desk-message");
  const texts = desk.dataset;
  const DRAFT_DAYS = 30;
  const TOAST_MS = 8000;
  const SLOW_MS = 1000; // after this time the page shows that an answer is being saved
  const DOUBLE_CLICK_MS = 300; // the second click of a double click must not answer the next item or question
  const UNREQUESTED_MS = 400; // keys typed in rhythm must not answer a sheet that appeared by itself
  const MAX_AHEAD = 5; // as MAX_PREFETCHED_ITEMS of remaining.py
  const STALE_MS = 15 * 60_000; // after which a sheet that is ready is requested again: its time may be over
  const MAX_PREFETCHED_BYTES = 10_000_000; // of an audio or video file
  const WORK_MS = 50 * 60_000; // of rating without a pause, after which a break is suggested
  const PAUSE_MS = 5 * 60_000;
  const MAX_WORDS = 60; // characters of an item that are read out

  const ahead = []; // the sheets after the one that is shown
  const outbox = []; // submitted answers that the server has not stored yet, the oldest first
  let generation = 0; // how often the sheets that were ready were discarded
  let filling = false;
  let flushing = null; // the promise of the answers on their way
  let undoing = false;
  let shownAt = -Infinity;
  let keysFrom = -Infinity; // when keys reach the sheet again
  let byPointer = false;
  let wasComplete = false; // the answers, when the pointer was pressed
  let toastEnds = 0; // the timer that dismisses a message
  const readHere = new Set(); // ids of messages
  let lastAnswers = ""; // the questions' answers and keys that were shown last
  let goneBy = ""; // the version of the guidelines that the rater was told of

  const sheet = () => holder.querySelector(".sheet");
  const answers = () => holder.querySelector("form.answers");
  const isNew = (section) => section.hasAttribute("data-new");

  // --- what this browser remembers

  const store = {
    get(key) {
      try {
        return window.localStorage.getItem(key);
      } catch {
        return null; // storage is switched off: the desk works without
      }
    },
    set(key, value) {
      try {
        window.localStorage.setItem(key, value);
      } catch {
        /* full or switched off: only the draft is not kept */
      }
    },
    remove(key) {
      try {
        window.localStorage.removeItem(key);
      } catch {
        /* as above */
      }
    },
  };

  const setting = (name) => store.get(`concord:desk:${name}`) ?? (name === "keys" ? "on" : "off");

  const draftKey = (section) => `concord:draft:${texts.rater}:${section.dataset.item}`;

  function saveDraft() {
    const form = answers();
    if (!form) return;
    const chosen = [...new FormData(form)].filter(([name]) => !["csrfmiddlewaretoken", "guidelines", "item_version", "answer_version"].includes(name));
    store.set(draftKey(sheet()), JSON.stringify({ at: Date.now(), chosen }));
  }

  function bringDraftBack(section) {
    const draft = store.get(draftKey(section));
    const form = section.querySelector("form.answers");
    if (!draft || !form) return;
    let chosen;
    try {
      ({ chosen } = JSON.parse(draft));
    } catch {
      return;
    }
    for (const [name, value] of chosen) {
      const field = form.elements[name];
      if (!field) continue;
      if (field instanceof RadioNodeList || field.type === "radio") {
        for (const radio of form.querySelectorAll(`input[type="radio"][name="${CSS.escape(name)}"]`)) {
          if (radio.value === value) radio.checked = true;
        }
      } else if (field.type === "checkbox") {
        field.checked = true;
      } else {
        field.value = value;
      }
    }
    if (form.elements.comment?.value || form.elements.flagged?.checked) {
      form.querySelector(".answers__more").open = true;
    }
    if (chosen.some(([, value]) => value)) showNotice(texts.textDraft);
  }

  function forgetOldDrafts() {
    const oldest = Date.now() - DRAFT_DAYS * 86_400_000;
    for (const key of Object.keys(window.localStorage ?? {})) {
      if (!key.startsWith("concord:draft:")) continue;
      let at = 0;
      try {
        ({ at } = JSON.parse(store.get(key)));
      } catch {
        /* unreadable: forget it */
      }
      if (!(at > oldest)) store.remove(key);
    }
  }

  // --- what is shown

  /** A message between the item and the answers: neither moves. Errors and warnings stay until something changes. */
  function showNotice(text, { kind = "info", link = null, action = null, stays = kind !== "info" } = {}) {
    window.clearTimeout(toastEnds);
    status.replaceChildren();
    if (!text) return null;
    const notice = document.createElement("div");
    notice.className = `notice notice--${kind} toast`;
    const words = document.createElement("span");
    words.textContent = text;
    notice.append(words);
    if (link) {
      const anchor = document.createElement("a");
      anchor.href = link.href;
      anchor.textContent = link.text;
      notice.append(anchor);
    }
    if (action) notice.append(toastButton(action.text, action.run, "button--small"));
    const dismiss = toastButton("× ", () => showNotice(""), "button--quiet button--small");
    const key = document.createElement("kbd");
    key.textContent = "Esc";
    dismiss.append(key);
    dismiss.setAttribute("aria-label", texts.textDismiss);
    notice.append(dismiss);
    status.append(notice);
    if (!stays) toastEnds = window.setTimeout(() => putAway(notice), TOAST_MS);
    return notice;
  }

  function toastButton(text, run, style) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = `button ${style}`;
    button.textContent = text;
    button.addEventListener("click", run);
    return button;
  }

  /** Not while somebody is at it. */
  function putAway(notice) {
    if (notice.matches(":hover, :focus-within")) toastEnds = window.setTimeout(() => putAway(notice), TOAST_MS);
    else notice.remove();
  }

  /** `requested`: by the rater just now. Else keys wait a moment, for they may be meant for the sheet before. */
  function show(section, { requested = true } = {}) {
    if (!requested) keysFrom = performance.now() + UNREQUESTED_MS;
    if (!status.querySelector("[data-problem], [data-kept]")) showNotice("");
    heard.textContent = "";
    // A response on its way while this item was reopened may have brought it, too.
    const copy = ahead.findIndex((other) => other.dataset.item && other.dataset.item === section.dataset.item);
    if (copy >= 0) ahead.splice(copy, 1);
    holder.replaceChildren(section);
    arrange(section);
    shownAt = performance.now();
    window.scrollTo(0, 0);
    focusItem();
    window.history.replaceState(null, "", texts.rate);
    showReady();
  }

  /** The item has the focus, so that the arrow keys scroll it. */
  const focusItem = () => sheet().querySelector(".item-body")?.focus({ preventScroll: true });

  /** How many sheets are ready, for tests and styles. */
  function showReady() {
    desk.dataset.ready = ahead[0]?.dataset.item ?? "";
    desk.dataset.ahead = ahead.length;
  }

  /** What every sheet gets, however it came. */
  function arrange(section) {
    keepMessage(section);
    if (isNew(section) && !section.dataset.seen) bringDraftBack(section);
    section.dataset.seen = "yes";
    section.querySelector("form.answers")?.setAttribute("novalidate", ""); // submit() says which answer is missing
    showSettings();
    if (rated) allowUndo(section);
    setCurrent(firstOpenQuestion() ?? [...section.querySelectorAll(".question")].at(-1));
    goneBy ||= section.dataset.guidelines ?? "";
    writeVersion();
    if (Number(section.dataset.guidelines) > Number(goneBy)) lookAtGuidelines();
    lookAtAnswers(section);
  }

  let rated = false; // here, so that there is something to go back to

  function allowUndo(section) {
    for (const tool of section.querySelectorAll("[data-do=back], [data-do=undo]")) tool.disabled = false;
  }

  /** The questions' answers and keys. */
  const listAnswers = (section) =>
    [...section.querySelectorAll("input[data-key]")].map((input) => [input.name, input.value, input.dataset.key].join()).join(" ");

  /** Keys go by the order of the answers: who types without looking is told when a lead has changed them. */
  function lookAtAnswers(section) {
    const now = listAnswers(section);
    if (!now) return;
    if (lastAnswers && lastAnswers !== now) showNotice(texts.textAnswers, { kind: "warning" });
    lastAnswers = now;
  }

  function showSettings() {
    for (const box of holder.querySelectorAll("[data-setting]")) box.checked = setting(box.dataset.setting) === "on";
    document.documentElement.classList.toggle("keys-off", setting("keys") !== "on");
  }

  // --- what a lead wrote

  /** It stays from sheet to sheet until it is read. */
  function keepMessage(section) {
    const brought = section.querySelector(".message");
    if (!brought) return;
    brought.closest(".desk__message").remove();
    if (!written.firstChild && !readHere.has(brought.dataset.message)) written.append(brought);
  }

  async function markRead(message) {
    const answer = await ask(message.action, { method: "POST", headers: { "X-CSRFToken": csrfToken() } });
    if (answer.problem === "signedOut") return sayProblem(answer.problem);
    if (answer.problem) return showNotice(texts.textMessage, { kind: "error" });
    readHere.add(message.dataset.message);
    message.remove();
    return focusItem();
  }

  // --- guidelines that change while the desk is open

  /** Tell the rater once, lay the new text one key away, and say with every answer what they went by. */
  async function lookAtGuidelines() {
    let response;
    try {
      response = await fetch(`${texts.guidelines}?version=${goneBy}`, { credentials: "same-origin" });
    } catch {
      return undefined; // without a connection: another time
    }
    flush(); // a server that was away does not announce that it is back
    if (response.status !== 200 || response.redirected) return undefined;
    const parsed = new DOMParser().parseFromString(await response.text(), "text/html");
    const text = parsed.getElementById("guidelines-text");
    if (!text || text.dataset.version === goneBy) return undefined;
    goneBy = text.dataset.version;
    document.getElementById("guidelines-body").replaceChildren(...text.childNodes);
    tellGuidelines(`${texts.textGuidelines} ${goneBy}`);
    return writeVersion();
  }

  function tellGuidelines(text) {
    document.getElementById("desk-news-text").textContent = text;
    news.hidden = guidelines.open; // who reads them sees the new ones
  }

  function writeVersion() {
    const field = answers()?.elements.guidelines;
    if (field) field.value = goneBy;
  }

  function readGuidelines() {
    news.hidden = true;
    guidelines.showModal();
  }

  const questions = () => [...holder.querySelectorAll(".question")];
  const isAnswered = (question) => question.querySelector("input:checked") !== null;
  const firstOpenQuestion = () => questions().find((question) => !isAnswered(question));
  const currentQuestion = () => holder.querySelector(".question.is-current");

  function setCurrent(question) {
    const every = questions();
    for (const other of every) other.classList.toggle("is-current", other === question);
    for (const step of holder.querySelectorAll(".steps__one")) {
      const other = every[Number(step.dataset.step)];
      step.toggleAttribute("aria-current", false);
      if (other === question) step.setAttribute("aria-current", "step");
      const chosen = other?.querySelector("input:checked")?.closest(".choice").querySelector(".choice__label");
      step.querySelector(".steps__answer").textContent = chosen?.textContent ?? "";
    }
    const focused = document.activeElement?.closest(".question");
    if (focused && focused !== question) focusItem(); // what has the focus is hidden now
  }

  /** Show another question; the second click of a double click was meant for the one before. */
  function goTo(question) {
    setCurrent(question);
    shownAt = performance.now();
    (question.querySelector("input:checked") ?? question.querySelector("input")).focus({ preventScroll: true });
  }

  // --- to the server and back

  function csrfToken() {
    const cookie = document.cookie.split("; ").find((part) => /^(__Host-)?csrftoken=/.test(part));
    return cookie ? cookie.slice(cookie.indexOf("=") + 1) : document.querySelector("[name=csrfmiddlewaretoken]").value;
  }

  /** {ok, section} or {problem}: never throws. */
  async function ask(address, options = {}) {
    let response;
    try {
      response = await fetch(address, {
        ...options,
        headers: { "X-Annotation": "sheet", ...options.headers },
        credentials: "same-origin",
      });
    } catch {
      return { problem: "offline" };
    }
    if (Number(response.headers.get("X-Guidelines")) > Number(goneBy)) lookAtGuidelines();
    if (response.redirected && new URL(response.url).pathname === new URL(texts.signIn, window.location).pathname) {
      return { problem: "signedOut" };
    }
    if (response.status === 204) return { ok: true, section: null };
    const parsed = new DOMParser().parseFromString(await response.text(), "text/html");
    const section = parsed.querySelector(".sheet");
    // Without its cookies the browser is nobody's, or its form nobody's: signing in leads back here.
    if (response.status === 403 && !section) return { problem: "signedOut" };
    if (!section || parsed.querySelector(".site-header")) return { problem: "failed" };
    return { ok: response.ok, section: document.adoptNode(section) };
  }

  function sayProblem(problem) {
    let notice;
    if (problem === "signedOut") {
      notice = showNotice(texts.textSignedOut, { kind: "error", link: { href: texts.signIn, text: texts.textSignIn } });
    } else {
      const text = problem === "offline" ? texts.textOffline.replace("%s", outbox.length || 1) : texts.textFailed;
      notice = showNotice(text, { kind: "error" });
    }
    notice.dataset.problem = problem;
  }

  // --- sheets that are ready

  /** Ids of the items that this page has: shown, ready, or answered and not stored yet. */
  function listHeldItems(sent = null) {
    const sections = [sheet(), ...ahead].filter((section) => isNew(section) && section !== sent?.section);
    const ids = [...sections.map((section) => section.dataset.item), ...outbox.filter((entry) => entry !== sent).map((entry) => entry.item)];
    return [...new Set(ids)].filter(Boolean);
  }

  async function fetchAhead() {
    if (filling) return;
    filling = true;
    while (ahead.length < MAX_AHEAD && isNew(sheet())) {
      const requested = generation;
      const answer = await ask(`${texts.next}?showing=${listHeldItems()}`);
      if (requested !== generation) continue;
      if (!answer.ok || !answer.section || !layReady(answer.section)) break;
    }
    filling = false;
  }

  function discardAhead() {
    ahead.length = 0;
    generation += 1;
  }

  /** Keep the sheet ready; false if it is here already. */
  function layReady(section) {
    const { item } = section.dataset;
    if (!item || sheet().dataset.item === item || outbox.some((entry) => entry.item === item)) return false;
    if (ahead.some((other) => other.dataset.item === item)) return false;
    // A lead has changed the answers: the sheets with the old ones are requested again.
    const isStale = ahead.some((other) => listAnswers(other) !== listAnswers(section));
    if (isStale) discardAhead();
    else ahead.push(section);
    section.dataset.fetched = Date.now();
    showReady();
    if (isStale && !filling) fetchAhead();
    for (const image of section.querySelectorAll("img[src]")) new Image().src = image.src;
    for (const medium of section.querySelectorAll("audio[src], video[src]")) prefetchMedium(medium.src);
    return true;
  }

  /** Into the cache of the browser. A large file is left to the player. */
  async function prefetchMedium(address) {
    if (new URL(address).origin !== window.location.origin || navigator.connection?.saveData) return;
    const abort = new AbortController();
    try {
      const response = await fetch(address, { credentials: "same-origin", signal: abort.signal });
      if (Number(response.headers.get("Content-Length")) > MAX_PREFETCHED_BYTES) abort.abort();
      else await response.arrayBuffer();
    } catch {
      /* the player requests it when the item is shown */
    }
  }

  /** Show the next sheet that is ready; false if there is none. */
  function showNext() {
    const next = ahead.shift();
    if (next) show(next);
    return Boolean(next);
  }

  // --- the outbox

  const outboxKey = (item) => `concord:outbox:${texts.rater}:${item}`;

  /** Put a form of the sheet (an answer or a skip) into the outbox and show the next sheet, if one is ready. */
  function send(form) {
    const section = sheet();
    const { item } = section.dataset;
    const entry = { item, section, form, action: form.getAttribute("action"), held: held(form), at: Date.now() };
    entry.body = JSON.parse(entry.held);
    entry.skipped = form.matches(".skip__form");
    const earlier = outbox.findIndex((other) => other.item === item);
    if (earlier >= 0) outbox.splice(earlier, 1); // answered again before it was sent
    outbox.push(entry);
    store.set(outboxKey(item), JSON.stringify({ item, action: entry.action, body: entry.body, at: entry.at, skipped: entry.skipped }));
    form.closest("details")?.removeAttribute("open");
    section.classList.add("is-sending");
    rated = true;
    if (navigator.onLine && Date.now() - ahead[0]?.dataset.fetched > STALE_MS) discardAhead();
    showNext();
    noteWork();
    return flush();
  }

  const held = (form) => JSON.stringify([...new FormData(form)].filter(([name]) => name !== "csrfmiddlewaretoken"));

  /** Whether the rater has changed an answer that is still on the screen since it was submitted. */
  const isOutdated = (entry) =>
    entry.section === sheet() && entry.form.isConnected && withoutVersion(held(entry.form)) !== withoutVersion(entry.held);

  const withoutVersion = (text) => JSON.stringify(JSON.parse(text).filter(([name]) => name !== "guidelines"));

  function removeEntry(entry) {
    const place = outbox.indexOf(entry);
    if (place >= 0) outbox.splice(place, 1);
    store.remove(outboxKey(entry.item));
    entry.section?.classList.remove("is-sending");
  }

  /** Send what is in the outbox, one after the other, until something fails. */
  function flush() {
    flushing ??= flushEntries().finally(() => {
      flushing = null;
    });
    return flushing;
  }

  async function flushEntries() {
    while (outbox.length) {
      const [entry] = outbox;
      if (entry.tried && isOutdated(entry)) {
        removeEntry(entry);
        showNotice("");
        continue;
      }
      const answer = await post(entry);
      if (answer.problem) {
        for (const other of outbox) {
          other.tried = true;
          other.section?.classList.remove("is-sending");
        }
        sayProblem(answer.problem);
        return;
      }
      removeEntry(entry);
      settle(answer, entry);
    }
    if (status.querySelector(".notice")?.dataset.problem) showNotice("");
    fetchAhead();
  }

  async function post(entry) {
    const body = new FormData();
    for (const [name, value] of entry.body) body.append(name, value);
    const shown = listHeldItems(entry);
    if (shown.length) body.set("showing", shown);
    entry.generation = generation;
    if (entry.tried) body.set("delayed", "on"); // how long the item was visible is unknown
    let waiting = null;
    const slow = window.setTimeout(() => {
      if (!status.firstElementChild) waiting = showNotice(texts.textStoring, { kind: "waiting" });
    }, SLOW_MS);
    // keepalive: an answer on its way arrives even when the window is closed.
    const answer = await ask(entry.action, { method: "POST", body, headers: { "X-CSRFToken": csrfToken() }, keepalive: true });
    window.clearTimeout(slow);
    waiting?.remove();
    return answer;
  }

  /** What the server answered. Only if the rater still sees the item that was answered, another sheet replaces it. */
  function settle(answer, entry) {
    const isSeen = entry.section === sheet();
    const next = answer.section;
    if (answer.ok) {
      store.remove(`concord:draft:${texts.rater}:${entry.item}`);
      if (document.getElementById("desk-news-text").textContent === texts.textBegin) news.hidden = true;
      // Where sheets were discarded since, those come first: the page requests them anew.
      if (next?.dataset.item && entry.generation === generation) layReady(next);
      if (isSeen && !showNext() && next) {
        if ("progress" in next.dataset) window.location.assign(texts.rate);
        else show(next);
      }
      // A sheet that was ready before has older numbers.
      const progress = next?.querySelector(".sheet__progress");
      if (progress && sheet() !== next) sheet().querySelector(".sheet__progress")?.replaceWith(progress.cloneNode(true));
      announce(entry);
    } else if (!next.dataset.item && !("refused" in next.dataset)) {
      discardAhead(); // the rater may not rate here at present
      news.hidden = true;
      show(next, { requested: false });
    } else {
      next.dataset.seen = "yes"; // it contains what was sent; the draft says no more
      if (isSeen) showReturned(next);
      else {
        const action = next.dataset.item && { text: texts.textOpen, run: () => showReturned(next) };
        showNotice(next.dataset.item ? texts.textRefused.replace("%s", () => describe(next)) : next.querySelector("p").textContent, { kind: "warning", action });
      }
    }
  }

  function showReturned(section) {
    if (isNew(sheet()) && sheet().dataset.item !== section.dataset.item) ahead.unshift(sheet());
    show(section, { requested: false });
    section.querySelector(".errorlist:not(:empty)")?.scrollIntoView({ block: "nearest" });
  }

  /** After the last answer of an exam, or of all, there is no item: its heading is read out. */
  function announce(entry) {
    const section = sheet();
    const heading = section.querySelector("h2")?.textContent ?? "";
    const text = entry.skipped ? texts.textSkipped : texts.textStored;
    heard.textContent = section.dataset.item ? text.replace("%s", () => describe(section)) : heading;
  }

  /** The first words of an item, or the name of its medium. */
  function describe(section) {
    const item = section.querySelector(".item-body");
    const words = [...item.querySelectorAll(".item-body__text, .item-body__html")].map((part) => part.textContent).join(" ");
    const medium = item.querySelector("[data-medium] [aria-label]");
    const text = words.replace(/\s+/g, " ").trim() || medium?.getAttribute("aria-label") || section.dataset.key;
    return text.length > MAX_WORDS ? `${text.slice(0, MAX_WORDS - 1)}…` : text;
  }

  /** Answers of an earlier page of this browser that never reached the server. */
  async function sendRestored() {
    for (const key of Object.keys(window.localStorage ?? {})) {
      if (!key.startsWith(outboxKey(""))) continue;
      try {
        const answer = JSON.parse(store.get(key));
        answer.tried = true;
        outbox.push(answer);
      } catch {
        store.remove(key);
      }
    }
    outbox.sort((one, other) => one.at - other.at);
    const shown = sheet().dataset.item;
    const answersShown = outbox.some((entry) => entry.item === shown);
    await flush();
    if (!answersShown || outbox.length || sheet().dataset.item !== shown) return;
    const answer = await ask(texts.rate);
    if (answer.ok && answer.section) show(answer.section, { requested: false });
    fetchAhead();
  }

  /** Suggest a break after WORK_MS of rating without a pause. */
  function noteWork() {
    const key = `concord:work:${texts.rater}`;
    const now = Date.now();
    let work = null;
    try {
      work = JSON.parse(store.get(key));
    } catch {
      /* unreadable: it begins now */
    }
    const gap = now - work?.last; // negative where the clock was set back
    if (!(gap >= 0 && gap < PAUSE_MS)) work = { start: now };
    if (now - work.start >= WORK_MS && !work.suggested) {
      work.suggested = true;
      showNotice(texts.textBreak, { stays: true }).dataset.kept = "";
    }
    store.set(key, JSON.stringify({ ...work, last: now }));
  }

  // --- back and forward

  /** Withdraw what was answered or skipped last; the sheet that is shown comes after it again. */
  async function undo() {
    if (undoing) return undefined;
    undoing = true;
    await flush();
    const unsent = outbox.at(-1);
    if (unsent?.section && unsent.section !== sheet()) {
      undoing = false;
      removeEntry(unsent);
      if (isNew(sheet())) ahead.unshift(sheet());
      show(unsent.section);
      return showNotice(texts.textReopened);
    }
    const here = sheet();
    const body = new FormData();
    if (here.dataset.item) body.set("before", here.dataset.item);
    const headers = { "X-CSRFToken": csrfToken() };
    const answer = await ask(texts.undo, { method: "POST", body, headers });
    undoing = false;
    if (!showEarlier(answer, here)) return undefined;
    const { undone } = answer.section.dataset;
    if (!undone) return undefined;
    saveDraft(); // it outlives the page, until it is submitted again or changed
    const redo = { text: texts.textRedo, run: submit };
    return showNotice(undone, { action: firstOpenQuestion() ? null : redo });
  }

  /** Look at the item before, without withdrawing anything. */
  async function lookBack() {
    await flush();
    const here = sheet();
    showEarlier(await ask(`${texts.undo}?before=${here.dataset.item ?? ""}`), here);
  }

  function showEarlier(answer, here) {
    if (answer.problem) sayProblem(answer.problem);
    else if (!answer.section) showNotice(texts.textNothingBefore);
    else if (sheet() === here) {
      if (isNew(here)) ahead.unshift(here);
      if (answer.section.dataset.undone) answer.section.dataset.seen = "yes"; // no draft is better
      show(answer.section);
      return true;
    }
    return false;
  }

  function forward(event) {
    if (isNew(sheet()) || !ahead.length) return; // the link goes there by itself
    event.preventDefault();
    showNext();
    fetchAhead();
  }

  /** Submit, or go on to a question that is not answered yet. */
  function submit() {
    const open = firstOpenQuestion();
    const current = currentQuestion();
    if (open) {
      goTo(open);
      const question = open.querySelector("legend").textContent.trim();
      if (open === current || !isAnswered(current)) showNotice(texts.textChoose.replace("%s", () => question), { kind: "warning" });
    } else if (answers()) {
      answers().requestSubmit();
    }
  }

  // --- keys

  const keyed = (question) => [...question.querySelectorAll("input[data-key]")];
  const lower = (input) => input.dataset.key.toLowerCase();

  /** Whether no two questions share a key. Then each key works at any time; else those of the current question alone, for
   *  a slip of the finger must not change the answer to another one. */
  function keysAreApart() {
    const keys = questions().flatMap((question) => [...new Set(keyed(question).map(lower))]).filter(Boolean);
    return new Set(keys).size === keys.length;
  }

  function withKey(question, key) {
    const inputs = keyed(question);
    return inputs.find((one) => one.dataset.key === key) ?? inputs.find((one) => lower(one) === key.toLowerCase());
  }

  function choose(key) {
    const current = currentQuestion();
    const otherQuestions = keysAreApart() ? questions().filter((candidate) => candidate !== current) : [];
    const question = [current, ...otherQuestions].find((candidate) => candidate && withKey(candidate, key));
    if (!question) return false;
    const input = withKey(question, key);
    const wasComplete = !firstOpenQuestion();
    input.checked = true;
    input.closest(".choice").scrollIntoView({ block: "nearest" });
    input.dispatchEvent(new Event("change", { bubbles: true }));
    if (advance(question, wasComplete)) return true;
    setCurrent(firstOpenQuestion() ?? question);
    // Who types does not walk through the answers: the arrow keys are the item's again.
    if (document.activeElement?.closest(".choice")) focusItem();
    return true;
  }

  /** To the previous question, to answer it again. */
  function back() {
    const every = questions();
    const before = every[every.indexOf(currentQuestion()) - 1];
    if (before) goTo(before);
  }

  function sayNoKey(key) {
    const question = currentQuestion()?.querySelector("legend").textContent.trim();
    if (question) showNotice(texts.textNoKey.replace("%k", key).replace("%q", () => question));
  }

  /** Where the rater wants it, the choice that completes the answers submits them, and so does one for the last question. */
  function advance(question, wasComplete) {
    if (setting("advance") !== "on" || firstOpenQuestion()) return false;
    if (wasComplete && question !== questions().at(-1)) return false;
    submit();
    return true;
  }

  function open(selector, focused) {
    const details = holder.querySelector(selector);
    if (!details) return;
    details.open = true;
    details.querySelector(focused).focus();
  }

  const tools = {
    u: undo,
    s: () => open(".skip", "input[name=reason]"),
    c: () => open(".answers__more", "textarea"),
    f: () => {
      open(".answers__more", "input[name=flagged]");
      const flag = holder.querySelector("input[name=flagged]");
      const comment = answers()?.elements.comment;
      // After a comment the flag is set already, and the first press of the key means the same.
      if (flag?.checked && comment?.dataset.flagged === "") comment.dataset.flagged = "kept";
      else flag?.click();
    },
    g: readGuidelines,
  };

  const isTyping = (element) => element.matches("textarea, select, input:not([type=radio], [type=checkbox])");

  /** What was written stays in sight. */
  function leaveField(element) {
    const fields = answers()?.elements;
    if (!element.closest(".answers__more") || !(fields.comment.value || fields.flagged.checked)) {
      element.closest("details")?.removeAttribute("open");
    }
    focusItem();
  }

  /** Esc: close a menu, else dismiss what was shown last, else mark the lead's message as read. */
  function dismiss() {
    const menu = holder.querySelector(".tool[open]");
    if (menu) menu.open = false;
    else if (status.firstElementChild) showNotice("");
    else if (!news.hidden) news.hidden = true;
    else written.querySelector("form")?.requestSubmit();
    focusItem();
  }

  function onKey(event) {
    if (event.defaultPrevented || event.isComposing) return;
    const element = event.target;
    if (isTyping(element)) {
      if (event.key === "Escape") leaveField(element);
      else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (document.querySelector("dialog[open]:not(#guidelines)")) return;
    if (guidelines.open) {
      if (event.key.toLowerCase() === "g") guidelines.close();
      return;
    }
    const mustWait = performance.now() < keysFrom || sheet().classList.contains("is-sending");
    if (mustWait && (event.key.length === 1 || event.key === "Enter")) {
      event.preventDefault();
      return;
    }
    if (event.key === "Escape") {
      dismiss();
    } else if (event.shiftKey && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
      event.preventDefault();
      if (event.key === "ArrowRight") forward(event);
      else if (sheet().querySelector("[data-do=back]:enabled")) lookBack();
    } else if (event.key === "Enter") {
      if (element.closest("a, button, summary")) return;
      event.preventDefault();
      submit();
    } else if (event.key === "Backspace" && setting("keys") === "on") {
      back();
    } else if (setting("keys") === "on" && event.key.length === 1) {
      if (choose(event.key)) event.preventDefault();
      else if (tools[event.key.toLowerCase()]) {
        event.preventDefault();
        tools[event.key.toLowerCase()]();
      } else if (/^[\p{L}\p{N}]$/u.test(event.key)) sayNoKey(event.key);
    }
  }

  // --- listening

  document.addEventListener("keydown", onKey);
  document.addEventListener("keys-switched", showSettings); // in the list of keys (palette.js)

  window.addEventListener("online", flush);

  desk.addEventListener("poll", () => lookAtGuidelines());

  desk.addEventListener("submit", (event) => {
    event.preventDefault();
    if (event.target.matches(".message")) markRead(event.target);
    else if (event.target.matches("[data-plain]")) event.target.submit();
    else if (event.target === answers() && firstOpenQuestion()) submit();
    else send(event.target);
  });

  desk.addEventListener("click", (event) => {
    // A tool that was pressed by mouse does not wait for Enter, which is the answer's again.
    const byMouse = event.detail > 0 && event.target.closest("[data-do], [data-enlarge], [data-media], summary");
    if (byMouse) focusItem();
    const tool = event.target.closest("[data-do]")?.dataset.do;
    if (tool === "forward") forward(event);
    if (tool === "back" || tool === "undo" || tool === "guidelines") {
      event.preventDefault();
      (tool === "back" ? lookBack : tools[tool[0]])();
    }
    const step = event.target.closest("[data-step]");
    if (step) goTo(questions()[Number(step.dataset.step)]);
    for (const menu of holder.querySelectorAll(".tool[open]")) if (!menu.contains(event.target)) menu.open = false;
    // The second click of a double click was meant for the item before.
    if (event.detail > 0 && event.target.closest(".choice") && performance.now() - shownAt < DOUBLE_CLICK_MS) event.preventDefault();
  });

  // The arrow keys move through the answers without submitting; a finger or a mouse means it.
  desk.addEventListener("pointerdown", () => {
    byPointer = true;
    wasComplete = !firstOpenQuestion();
  });
  desk.addEventListener("keydown", () => (byPointer = false));

  desk.addEventListener("change", (event) => {
    const name = event.target.dataset.setting;
    if (name) {
      store.set(`concord:desk:${name}`, event.target.checked ? "on" : "off");
      showSettings();
      return;
    }
    if (event.target.matches("input[data-key]")) {
      // The arrow keys move through the answers of a question; a finger or a mouse goes on to the next one.
      const question = event.target.closest(".question");
      const stays = !byPointer && question.contains(document.activeElement);
      const next = stays ? question : (firstOpenQuestion() ?? question);
      setCurrent(next);
      if (next !== question) shownAt = performance.now();
      if (status.querySelector(".notice--warning")) showNotice("");
    }
    if (event.target.closest("form.answers")) saveDraft();
    if (event.target.matches("input[data-key]") && byPointer) advance(event.target.closest(".question"), wasComplete);
  });

  desk.addEventListener("input", (event) => {
    // A comment is for the lead, unless its rater clears the flag.
    const field = event.target;
    if (field.id === "comment" && field.value && !field.defaultValue && !("flagged" in field.dataset)) {
      field.dataset.flagged = "";
      answers().elements.flagged.checked = true;
    }
    if (event.target.matches("form.answers textarea")) saveDraft();
  });

  desk.addEventListener("focusin", (event) => {
    const question = event.target.closest(".question");
    if (question) setCurrent(question);
  });

  // --- the sheet that came with the page

  forgetOldDrafts();
  rated = !sheet().querySelector("[data-do=back]:disabled");
  arrange(sheet());
  showReady();
  if (document.activeElement === document.body) focusItem();
  if ("begins" in desk.dataset) tellGuidelines(texts.textBegin);
  // Changed while the rater was away: told until they have answered under the new ones.
  if (texts.lastGuidelines && Number(texts.lastGuidelines) < Number(goneBy)) tellGuidelines(`${texts.textGuidelines} ${goneBy}`);
  sendRestored();
})();
