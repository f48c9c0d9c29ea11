/* The annotator's desk. The page works without this script: every sheet is a plain form and every tool a plain link.
   With it: single keys, drafts that survive, and the next sheet laid ready, so that it is there the moment this one is
   sent. A sheet that could not be stored comes back with what was chosen. */
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
  const SLOW_MS = 1000; // from then on it is said that an answer is on its way
  const DOUBLE_CLICK_MS = 300; // the second half of one must not answer the next item

  let ahead = null; // the sheet after the one that is shown
  let aheadTicket = 0; // which request for it is the latest
  let sending = null; // the promise of the answer on its way
  let undoing = false;
  let shownAt = -Infinity;
  let byPointer = false;
  let toastEnds = 0; // the timer that puts a message away
  let lost = null; // what did not reach the server: a form with what it held
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

  const draftKey = (section) => texts.drafts + section.dataset.item;

  function saveDraft() {
    const form = answers();
    if (!form) return;
    const chosen = [...new FormData(form)].filter(([name]) => !["csrfmiddlewaretoken", "guidelines", "item_version", "answer_version"].includes(name));
    store.set(draftKey(sheet()), JSON.stringify({ at: Date.now(), chosen }));
  }

  function bringDraftBack(section) {
    const kept = store.get(draftKey(section));
    const form = section.querySelector("form.answers");
    if (!kept || !form) return;
    let chosen;
    try {
      ({ chosen } = JSON.parse(kept));
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
    if (chosen.some(([, value]) => value)) say(texts.textDraft);
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

  /** A message over the page: nothing below it moves. Errors and warnings stay until something changes. */
  function say(text, { kind = "info", link = null, action = null } = {}) {
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
    const away = toastButton("×", () => say(""), "button--quiet button--small");
    away.setAttribute("aria-label", texts.textDismiss);
    notice.append(away);
    status.append(notice);
    if (kind === "info") toastEnds = window.setTimeout(() => putAway(notice), TOAST_MS);
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

  function show(section) {
    say("");
    heard.textContent = "";
    holder.replaceChildren(section);
    arrange(section);
    shownAt = performance.now();
    window.scrollTo(0, 0);
    section.querySelector(".item-body")?.focus({ preventScroll: true });
    window.history.replaceState(null, "", texts.rate);
  }

  /** What every sheet gets, however it came. */
  function arrange(section) {
    keepMessage(section);
    if (isNew(section) && !section.dataset.seen) bringDraftBack(section);
    section.dataset.seen = "yes";
    section.querySelector(".item-body")?.setAttribute("tabindex", "-1");
    section.querySelector("form.answers")?.setAttribute("novalidate", ""); // submit() says which answer is missing
    showSettings();
    showNews(!news.hidden);
    setCurrent(firstOpenQuestion() ?? section.querySelector(".question"));
    goneBy ||= section.dataset.guidelines ?? "";
    writeVersion();
    if (Number(section.dataset.guidelines) > Number(goneBy)) lookAtGuidelines();
    lookAtAnswers(section);
  }

  /** Keys go by the order of the answers: who types without looking is told when a lead has changed them. */
  function lookAtAnswers(section) {
    const inputs = [...section.querySelectorAll("input[data-key]")];
    if (!inputs.length) return;
    const now = inputs.map((input) => [input.name, input.value, input.dataset.key].join()).join(" ");
    if (lastAnswers && lastAnswers !== now) say(texts.textAnswers, { kind: "warning" });
    lastAnswers = now;
  }

  function showSettings() {
    for (const box of holder.querySelectorAll("[data-setting]")) box.checked = setting(box.dataset.setting) === "on";
    document.documentElement.classList.toggle("keys-off", setting("keys") !== "on");
  }

  // --- what a lead wrote

  /** It stays over the page from sheet to sheet, folded or not, until it is read. */
  function keepMessage(section) {
    const brought = section.querySelector(".message");
    if (!brought) return;
    brought.closest(".desk__message").remove();
    if (!written.firstChild && !readHere.has(brought.dataset.message)) written.append(brought);
  }

  async function markRead(message) {
    const answer = await ask(message.action, { method: "POST", headers: { "X-CSRFToken": csrfToken() } });
    if (answer.problem === "signedOut") return sayProblem(answer.problem);
    if (answer.problem) return say(texts.textMessage, { kind: "error" });
    readHere.add(message.dataset.message);
    message.remove();
    return sheet().querySelector(".item-body")?.focus({ preventScroll: true });
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
    sendAgain(); // a server that was away tells nobody that it is back
    if (response.status !== 200 || response.redirected) return undefined;
    const parsed = new DOMParser().parseFromString(await response.text(), "text/html");
    const text = parsed.getElementById("guidelines-text");
    if (!text || text.dataset.version === goneBy) return undefined;
    goneBy = text.dataset.version;
    document.getElementById("guidelines-body").replaceChildren(...text.childNodes);
    tellGuidelines(texts.textGuidelines.replace("%s", goneBy));
    return writeVersion();
  }

  function tellGuidelines(text) {
    document.getElementById("desk-news-text").textContent = text;
    showNews(!guidelines.open); // who reads them sees the new ones
  }

  /** On a phone the button that opens them says it: a card would lie over what is read or pressed. */
  function showNews(open) {
    news.hidden = !open;
    const told = holder.querySelector(".sheet__news");
    if (told) told.textContent = open ? document.getElementById("desk-news-text").textContent : "";
  }

  function writeVersion() {
    const field = answers()?.elements.guidelines;
    if (field) field.value = goneBy;
  }

  function readGuidelines() {
    showNews(false);
    guidelines.showModal();
  }

  const questions = () => [...holder.querySelectorAll(".question")];
  const isAnswered = (question) => question.querySelector("input:checked") !== null;
  const firstOpenQuestion = () => questions().find((question) => !isAnswered(question));
  const currentQuestion = () => holder.querySelector(".question.is-current");

  function setCurrent(question) {
    for (const other of questions()) other.classList.toggle("is-current", other === question);
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
    if (problem === "signedOut") {
      say(texts.textSignedOut, { kind: "error", link: { href: texts.signIn, text: texts.textSignIn } });
    } else {
      const notice = say(problem === "offline" ? texts.textOffline : texts.textFailed, { kind: "error" });
      notice.dataset.problem = problem;
    }
  }

  async function fetchAhead() {
    const section = sheet();
    if (ahead || !isNew(section)) return;
    const ticket = ++aheadTicket;
    const answer = await ask(`${texts.next}?showing=${section.dataset.item}`);
    if (ticket !== aheadTicket || sheet() !== section || ahead) return;
    if (answer.ok && answer.section?.dataset.item) layReady(answer.section);
  }

  function layReady(section) {
    ahead = section;
    desk.dataset.ready = section.dataset.item;
    for (const image of section.querySelectorAll("img[src]")) new Image().src = image.src;
  }

  /** Send a form of the sheet (an answer or a skip) and show the next one, at once when it lies ready. */
  async function send(form) {
    const section = sheet();
    if (sending) {
      await sending;
      if (section !== sheet()) return; // the one before came back: this one waits its turn
    }
    const body = new FormData(form);
    const headers = { "X-CSRFToken": csrfToken() };
    body.delete("csrfmiddlewaretoken");
    const next = ahead;
    ahead = null;
    aheadTicket += 1;
    if (next) {
      body.set("showing", next.dataset.item);
      show(next);
    }
    section.classList.add("is-sending");
    if (form.matches(".skip__form")) section.dataset.skipped = "yes";
    lost = null;
    let waiting = null;
    const slow = window.setTimeout(() => {
      if (!status.firstChild) waiting = say(texts.textStoring, { kind: "waiting" });
    }, SLOW_MS);
    // keepalive: an answer on its way arrives even when the window is closed.
    sending = ask(form.action, { method: "POST", body, headers, keepalive: true });
    const answer = await sending;
    sending = null;
    window.clearTimeout(slow);
    waiting?.remove();
    section.classList.remove("is-sending");
    settle(answer, section, next);
    if (answer.problem === "offline") lost = { form, held: held(form) };
  }

  const held = (form) => JSON.stringify([...new FormData(form)].filter(([name]) => name !== "guidelines"));

  /** The network is back: what did not get through is sent again, unless the rater has thought of something else. */
  function sendAgain() {
    if (status.querySelector(".notice--error")?.dataset.problem !== "offline") return;
    say("");
    const again = lost;
    lost = null;
    if (again?.form.isConnected && held(again.form) === again.held) send(again.form);
  }

  function settle(answer, section, next) {
    if (answer.problem) {
      if (next) {
        show(section);
        ahead = next;
      }
      sayProblem(answer.problem);
    } else if (!answer.ok) {
      ahead = answer.section.dataset.item ? next : null; // none: the desk is closed to this rater
      if (!answer.section.dataset.item) news.hidden = true;
      answer.section.dataset.seen = "yes"; // it carries what was sent; the draft says no more
      show(answer.section);
      answer.section.querySelector(".errorlist:not(:empty)")?.scrollIntoView({ block: "center" });
    } else {
      store.remove(draftKey(section));
      if (document.getElementById("desk-news-text").textContent === texts.textBegin) showNews(false);
      if (!next) {
        show(answer.section);
        fetchAhead();
      } else if (answer.section) {
        const progress = answer.section.querySelector(".sheet__progress");
        sheet().querySelector(".sheet__progress")?.replaceWith(progress.cloneNode(true));
        if (!ahead && isNew(sheet())) layReady(answer.section);
      }
      // After the last answer of an exam, or of all, there is no item: its heading says so.
      const { key } = sheet().dataset;
      const heading = sheet().querySelector("h2")?.textContent ?? "";
      const said = section.dataset.skipped ? texts.textSkipped : texts.textStored;
      heard.textContent = key ? said.replace("%s", () => key) : heading;
    }
  }

  /** Take back what was answered or skipped last; what lay here comes after it again. */
  async function undo() {
    if (undoing) return;
    undoing = true;
    if (sending) await sending;
    const here = sheet();
    const body = new FormData();
    if (here.dataset.item) body.set("before", here.dataset.item);
    const headers = { "X-CSRFToken": csrfToken() };
    const answer = await ask(texts.undo, { method: "POST", body, headers });
    undoing = false;
    if (answer.problem) return sayProblem(answer.problem);
    if (!answer.section) return say(texts.textNothingBefore);
    if (isNew(here)) ahead = here;
    const { undone } = answer.section.dataset;
    if (undone) answer.section.dataset.seen = "yes"; // it carries what was said; no draft is better
    show(answer.section);
    if (!undone) return undefined;
    saveDraft(); // what was said outlives the page, until it is said again or changed
    const redo = { text: texts.textRedo, run: submit };
    return say(undone, { action: firstOpenQuestion() ? null : redo });
  }

  function forward(event) {
    if (!ahead) return; // the link goes there by itself
    event.preventDefault();
    const next = ahead;
    ahead = null;
    show(next);
    fetchAhead();
  }

  function submit() {
    const open = firstOpenQuestion();
    if (open) {
      setCurrent(open);
      open.querySelector("input").focus();
      const asked = open.querySelector("legend").textContent.trim();
      say(texts.textChoose.replace("%s", () => asked), { kind: "warning" });
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
    const others = keysAreApart() ? questions().filter((one) => one !== current) : [];
    const question = [current, ...others].find((one) => one && withKey(one, key));
    if (!question) return false;
    const input = withKey(question, key);
    input.checked = true;
    input.closest(".choice").scrollIntoView({ block: "nearest" });
    input.dispatchEvent(new Event("change", { bubbles: true }));
    if (!advance()) setCurrent(firstOpenQuestion() ?? question);
    return true;
  }

  /** To the question before, to answer it anew. */
  function back() {
    const every = questions();
    const before = every[every.indexOf(currentQuestion()) - 1];
    (before?.querySelector("input:checked") ?? before?.querySelector("input"))?.focus();
  }

  function sayNoKey(key) {
    const asked = currentQuestion()?.querySelector("legend").textContent.trim();
    if (asked) say(texts.textNoKey.replace("%k", key).replace("%q", () => asked));
  }

  /** Submit at once where the rater wants it; only with one question there is nothing else to say. */
  function advance() {
    if (questions().length !== 1 || setting("advance") !== "on") return false;
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
      holder.querySelector("input[name=flagged]")?.click();
    },
    g: readGuidelines,
  };

  const isTyping = (element) => element.matches("textarea, select, input:not([type=radio], [type=checkbox])");

  /** What was written stays in sight. */
  function leaveField(element) {
    const said = answers()?.elements;
    if (!element.closest(".answers__more") || !(said.comment.value || said.flagged.checked)) {
      element.closest("details")?.removeAttribute("open");
    }
    sheet().querySelector(".item-body")?.focus();
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
    if (event.key === "Enter") {
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

  window.addEventListener("online", sendAgain);

  desk.addEventListener("poll", () => lookAtGuidelines());

  desk.addEventListener("submit", (event) => {
    event.preventDefault();
    if (event.target.matches(".message")) markRead(event.target);
    else if (event.target === answers() && firstOpenQuestion()) submit();
    else send(event.target);
  });

  desk.addEventListener("click", (event) => {
    // A tool that was pressed by mouse does not wait for Enter, which is the answer's again.
    const byMouse = event.detail > 0 && event.target.closest("[data-do], [data-enlarge], summary");
    if (byMouse) sheet().querySelector(".item-body")?.focus({ preventScroll: true });
    const tool = event.target.closest("[data-do]")?.dataset.do;
    if (tool === "forward") forward(event);
    if (tool === "undo" || tool === "guidelines") {
      event.preventDefault();
      tools[tool[0]]();
    }
    // The second click of a double click was meant for the item before.
    if (event.target.closest(".choice") && performance.now() - shownAt < DOUBLE_CLICK_MS) event.preventDefault();
  });

  // The arrow keys move through the answers without submitting; a finger or a mouse means it.
  desk.addEventListener("pointerdown", () => (byPointer = true));
  desk.addEventListener("keydown", () => (byPointer = false));

  desk.addEventListener("change", (event) => {
    const name = event.target.dataset.setting;
    if (name) {
      store.set(`concord:desk:${name}`, event.target.checked ? "on" : "off");
      showSettings();
      return;
    }
    if (event.target.matches("input[data-key]")) {
      const question = event.target.closest(".question");
      setCurrent(question.contains(document.activeElement) ? question : (firstOpenQuestion() ?? question));
      if (status.querySelector(".notice--warning")) say("");
    }
    if (event.target.closest("form.answers")) saveDraft();
    if (event.target.matches("input[data-key]") && byPointer) advance();
  });

  desk.addEventListener("input", (event) => {
    if (event.target.matches("form.answers textarea")) saveDraft();
  });

  desk.addEventListener("focusin", (event) => {
    const question = event.target.closest(".question");
    if (question) setCurrent(question);
  });

  // --- the sheet that came with the page

  forgetOldDrafts();
  arrange(sheet());
  if ("begins" in desk.dataset && goneBy !== "0") tellGuidelines(texts.textBegin);
  // Changed while the rater was away: told until they have answered under the new ones.
  if (texts.lastGuidelines && Number(texts.lastGuidelines) < Number(goneBy)) tellGuidelines(texts.textGuidelines.replace("%s", goneBy));
  fetchAhead();
})();
