// The little that a browser does itself: live parts, windows of long lists, lines of patches, keys. Everything that is
// put into the page was drawn by the server, which makes all text inert; addresses come from its attributes.
"use strict";

const $ = (selector, from = document) => from.querySelector(selector);
const all = (selector, from = document) => [...from.querySelectorAll(selector)];
const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;

function say(words) {
  $("#pulse").textContent = words;
}

async function part(address) {
  const answer = await fetch(address, { headers: { Accept: "text/html" }, credentials: "same-origin" });
  const found = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (!answer.ok) throw Object.assign(new Error(`status ${answer.status}`), { main: $("main", found) });
  return found;
}

// What was to be fetched cannot be had: the page has ended, or there is no such thing any longer.
function failed(error) {
  say(error.main ? $(".callout strong", error.main)?.textContent ?? "refused" : "not connected");
}

// --- times ---------------------------------------------------------------------------------------------------------

function tellTimes(from = document) {
  const now = Date.now();
  for (const time of all("time[datetime]", from)) {
    const moment = new Date(time.dateTime), seconds = Math.max(0, (now - moment) / 1000);
    time.title = moment.toLocaleString();
    time.textContent = seconds < 5 ? "just now" : seconds < 60 ? `${Math.floor(seconds)} s ago`
      : seconds < 3600 ? `${Math.floor(seconds / 60)} min ago` : seconds < 86400 ? `${Math.floor(seconds / 3600)} h ago`
      : moment.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  }
}

// --- long lists: rows that are far away are taken out, and fetched again when they are scrolled to ------------------

const KEPT = 5; // windows of rows that are in the page at once
const MOST_MISSED = 10; // windows of rows that are fetched to close a gap
const MOST_FIRST = 500; // rows of the first window, which grows while the page is open
const key = (row) => Number(row.dataset.key);
const windows = [];
let watcher = null;

function watchWindows() {
  const list = $("[data-window]");
  windows.length = 0;
  watcher?.disconnect();
  if (!list) return;
  watcher = new IntersectionObserver(seen, { rootMargin: "1200px 0px" });
  gather($("ol", list), list.closest("[data-live]")?.dataset.live);
}

function gather(chunk, address) {
  const more = $("li.more", chunk);
  const held = { chunk, address, isIn: true, loading: false };
  windows.push(held);
  watcher.observe(chunk);
  if (more) watcher.observe(more);
  return held;
}

async function seen(entries) {
  for (const entry of entries) {
    const held = windows.find((each) => each.chunk === entry.target);
    if (held) {
      held.near = entry.isIntersecting;
      if (held.near && !held.isIn) await bringBack(held);
    } else if (entry.isIntersecting) await older(entry.target);
  }
  const within = windows.filter((each) => each.isIn);
  for (const far of within.filter((each) => !each.near).slice(0, Math.max(0, within.length - KEPT))) takeOut(far);
}

async function older(item) {
  const link = $("[data-more]", item);
  if (!link || link.dataset.loading) return;
  link.dataset.loading = "yes";
  const address = link.dataset.more, list = item.closest("[data-window]"), chunk = document.createElement("ol");
  let found;
  try { found = await part(address); } catch (error) { delete link.dataset.loading; failed(error); return; }
  if (!item.isConnected) return;
  chunk.className = "chunk-rows";
  chunk.setAttribute("aria-label", "Older entries");
  chunk.append(...found.body.children);
  item.remove();
  list.append(chunk);
  gather(chunk, address);
  tellTimes(chunk);
}

function takeOut(held) {
  if (held.chunk.contains(document.activeElement) || $("li.more", held.chunk)) return;
  held.chunk.style.height = `${held.chunk.offsetHeight}px`;
  held.lowest = Math.min(...all("li.entry", held.chunk).map(key));
  held.chunk.replaceChildren();
  held.isIn = false;
}

async function bringBack(held) {
  if (held.loading) return;
  held.loading = true;
  try {
    const rows = await rowsDownTo(held.lowest, await part(held.address), Infinity);
    held.chunk.replaceChildren(...rows.filter((row) => key(row) >= held.lowest));
    held.chunk.style.height = "";
    held.isIn = true;
    tellTimes(held.chunk);
  } catch (error) { failed(error); }
  held.loading = false;
}

// The rows of a part, and of those below it until there is no gap above a row; null: there are too many between.
async function rowsDownTo(lowest, found, most) {
  const rows = all("li.entry", found);
  for (let fetched = 0; rows.length && key(rows[rows.length - 1]) > lowest; fetched++) {
    const more = $("[data-more]", found);
    if (!more) break;
    if (fetched >= most) return null;
    found = await part(more.dataset.more);
    rows.push(...all("li.entry", found));
  }
  return rows;
}

// --- live ----------------------------------------------------------------------------------------------------------

let drawing = false, again = false;

async function redraw() {
  const live = $("[data-live]");
  if (!live) return;
  if (drawing) { again = true; return; }
  drawing = true;
  try {
    const found = $("[data-live]", await part(live.dataset.live));
    if (found) await replaceLive(live, found);
    say("live");
  } catch (error) {
    if (error.main && !live.contains(document.activeElement)) live.replaceChildren(...error.main.children);
    failed(error);
  }
  drawing = false;
  if (again) { again = false; setTimeout(redraw, 150); }
}

async function replaceLive(live, found) {
  const list = $("[data-window]", live), newer = $("[data-window]", found);
  if (list && newer && windows.length) {
    // Only the newest rows: those that were scrolled to stay.
    const first = windows[0];
    if (first.isIn) {
      const newest = Math.max(...all("li.entry", first.chunk).map(key));
      const rows = await rowsDownTo(newest, newer, MOST_MISSED);
      const held = new Map(all("li.entry", first.chunk).map((row) => [row.dataset.key, row]));
      const last = rows?.length ? key(rows[rows.length - 1]) : 0;
      const kept = [...held.values()].filter((row) => key(row) < last);
      if (!rows || (rows.length + kept.length > MOST_FIRST && scrollY < innerHeight)) {
        list.replaceChildren(...newer.childNodes);
        watchWindows();
      } else put(first.chunk, [...rows, ...kept], held);
    }
    const cards = $(".cards", live), newCards = $(".cards", found);
    if (cards && newCards) { if (cards.innerHTML !== newCards.innerHTML) cards.replaceWith(newCards); }
    else if (cards) cards.remove();
    else if (newCards) live.prepend(newCards);
    tellTimes(live);
    return;
  }
  const plain = (element) => element.innerHTML.replace(/<time[^]*?<\/time>/g, "");
  if (live.dataset.drawn === plain(found)) return;
  live.dataset.drawn = plain(found);
  const open = new Map(all("details[id]", live).map((each) => [each.id, each.open]));
  const focused = document.activeElement?.getAttribute?.("href"), at = $(".at", live);
  const index = at ? items().indexOf(at) : -1;
  const typed = new Map(all("input[name]", live).filter((i) => i.type !== "hidden").map((i) => [i.name, i.value]));
  const typing = live.contains(document.activeElement) && document.activeElement.matches("input, textarea, select");
  if (typing) return;
  live.replaceChildren(...found.childNodes);
  for (const [id, was] of open) { const each = document.getElementById(id); if (each) each.open = was; }
  for (const [name, value] of typed) { const each = $(`input[name="${CSS.escape(name)}"]`, live); if (each && value) each.value = value; }
  if (focused) all("a[href]", live).find((each) => each.getAttribute("href") === focused)?.focus({ preventScroll: true });
  if (index >= 0) items()[index]?.classList.add("at");
  watchWindows();
  tellTimes(live);
}

function put(chunk, rows, held) {
  const next = rows.map((row) => {
    const old = held.get(row.dataset.key);
    const same = old && old.innerHTML.replace(/<time[^]*?<\/time>/g, "") === row.innerHTML.replace(/<time[^]*?<\/time>/g, "");
    return same && old.classList.contains("undone") === row.classList.contains("undone") ? old : row;
  });
  const present = all("li.entry", chunk);
  if (present.length === next.length && present.every((row, index) => row === next[index])) return;
  chunk.replaceChildren(...next, ...all("li.more", chunk));
}

// A browser has six connections to one place, for all its tabs: one of them listens, and passes on what it hears.
function listen() {
  if (!$("[data-live]")) return;
  const others = new BroadcastChannel("mulligan-live");
  let state = "", behind = false;
  const catchUp = () => {
    behind = document.hidden;
    if (!behind) redraw();
  };
  const hear = (word) => {
    // Whoever heard something before may have missed something until this hello.
    if (word === "changed" || (word === "hello" && state)) catchUp();
    state = word === "lost" ? "not connected" : "live";
    if (word !== "changed") say(state);
  };
  const pass = (word) => { others.postMessage(word); hear(word); };
  others.onmessage = ({ data }) => {
    if (data !== "asks") hear(data);
    else if (state && isListener) others.postMessage(state === "live" ? "listens" : "lost");
  };
  document.addEventListener("visibilitychange", () => { if (behind) catchUp(); });
  let isListener = false;
  const hold = () => new Promise((release) => {
    isListener = true;
    const source = new EventSource("/events");
    source.addEventListener("hello", () => pass("hello"));
    source.addEventListener("changed", () => pass("changed"));
    source.onerror = () => pass("lost");
    addEventListener("pagehide", () => { isListener = false; source.close(); release(); }, { once: true });
  });
  const begin = () => (navigator.locks ? navigator.locks.request("mulligan-live", hold) : hold());
  addEventListener("pageshow", (event) => { if (event.persisted) begin(); });
  begin();
  others.postMessage("asks");
}

// --- comparisons ---------------------------------------------------------------------------------------------------

const MOST_CHUNKS = 6;
const LINES_ABOVE = 290;

async function lines(file, address, how = "after") {
  const box = $(".lines", file);
  if (!box || box.dataset.loading) return;
  box.dataset.loading = "yes";
  let found;
  try { found = await part(address); } catch (error) { delete box.dataset.loading; failed(error); return; }
  if (how === "instead") box.replaceChildren();
  for (const note of all(":scope > .note, :scope > .more", box)) note.remove();
  box.append(...found.body.children);
  delete box.dataset.loading;
  const chunks = all(".chunk", box);
  for (const chunk of chunks.slice(0, Math.max(0, chunks.length - MOST_CHUNKS))) {
    // Lines far above are taken out; a link brings them back.
    const height = chunk.offsetHeight;
    chunk.remove();
    scrollBy(0, -height);
  }
  offerLinesAbove(file, box);
}

function offerLinesAbove(file, box) {
  $(":scope > .above", box)?.remove();
  const first = Number($(".chunk", box)?.dataset.first ?? 0);
  if (!first) return;
  const above = document.createElement("p"), link = document.createElement("a");
  above.className = "more above"; link.className = "button quiet"; link.textContent = "Lines above";
  link.href = `${file.dataset.lines}&first=${Math.max(0, first - LINES_ABOVE)}`;
  link.dataset.instead = "yes";
  above.append(link);
  box.prepend(above);
}

function watchFiles(from = document) {
  const files = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting || !target.open) continue;
      files.unobserve(target);
      const first = $("[data-first]", target), lazy = $("[data-part]", target);
      if (first?.href) lines(target, first.href);
      if (lazy) { const address = lazy.dataset.part; delete lazy.dataset.part; part(address).then((found) => lazy.append(...found.body.children), failed); }
    }
  }, { rootMargin: "600px 0px" });
  for (const file of all("details[data-lines]", from)) {
    files.observe(file);
    file.addEventListener("toggle", () => { if (file.open) { files.unobserve(file); files.observe(file); } });
  }
}

async function loadComparison() {
  const box = $("[data-load]");
  if (!box) return;
  let found;
  try { found = await part(box.dataset.load); } catch (error) {
    if (error.main) box.replaceChildren(...error.main.children);
    failed(error);
    return;
  }
  box.replaceChildren(...found.body.children);
  watchFiles(box);
  const title = $("h1", box);
  if (title) document.title = `${title.textContent} · mulligan`;
}

async function find(words, from = null) {
  if (!words || finding) return;
  finding = true;
  say("searching");
  try { say(await findNext(words, from) || (from && await findNext(words, null)) ? "found" : "not found"); }
  catch (error) { failed(error); }
  finding = false;
}

async function findNext(words, from) {
  const files = all("details[data-lines]");
  const start = from ? files.indexOf(from.file) : 0;
  for (const file of [...files.slice(start), ...files.slice(0, start)]) {
    const first = from && file === from.file ? from.next : 0;
    const found = await part(`${file.dataset.lines}&first=${first}&find=${encodeURIComponent(words)}`);
    if ($("[data-missing]", found)) continue;
    file.open = true;
    const box = $(".lines", file);
    if (!box) continue;
    box.replaceChildren(...found.body.children);
    offerLinesAbove(file, box);
    $(".r.found", box)?.scrollIntoView({ block: "center", behavior: calm ? "auto" : "smooth" });
    lastFound = { file, words, next: Number($(".chunk", box).dataset.at) + 1 };
    return true;
  }
  return false;
}
let lastFound = null, finding = false;

// --- keys ----------------------------------------------------------------------------------------------------------

const items = () => all(".entry, .diff, li.step, li.decision");
let before = "";

function move(by) {
  const list = items();
  if (!list.length) return;
  const at = list.findIndex((each) => each.classList.contains("at"));
  const next = list[Math.min(list.length - 1, Math.max(0, at < 0 ? 0 : at + by))];
  list[at]?.classList.remove("at");
  next.classList.add("at");
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest", behavior: calm ? "auto" : "smooth" });
}

function follow(pattern) {
  const link = all("a[href]", $(".at") ?? document).find((each) => pattern.test(each.getAttribute("href")));
  link?.click();
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog")) {
    if (event.key === "Escape") event.target.blur?.();
    return;
  }
  const places = { t: "/", p: "/plans", f: "/tree", d: "/upkeep" };
  if (before === "g" && places[event.key]) { before = ""; location.assign(places[event.key]); return; }
  before = event.key;
  switch (event.key) {
    case "j": move(1); break;
    case "k": move(-1); break;
    case "Enter": {
      const at = $(".at");
      if (!at || document.activeElement !== at) return;
      const summary = $("summary", at);
      if (summary && !$(".title", at)) summary.click(); else $(".title", at)?.click();
      break;
    }
    case "u": follow(/^\/act\/(undo|redo)/); break;
    case "c": follow(/^\/compare/); break;
    case "/": $("[data-search]")?.focus(); break;
    case "?": $("#keys").showModal(); break;
    default: return;
  }
  event.preventDefault();
});

document.addEventListener("click", (event) => {
  const link = event.target.closest("a");
  if (!link) return;
  const file = link.closest("details[data-lines]");
  if (file && (link.dataset.next || link.hasAttribute("data-first") || link.dataset.instead)) {
    event.preventDefault();
    lines(file, link.href, link.dataset.instead ? "instead" : "after");
  } else if (link.dataset.more) {
    event.preventDefault();
    older(link.closest("li"));
  }
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-take]");
  if (!button) return;
  const box = $("#content");
  box.value = document.getElementById(button.dataset.take).value;
  box.focus();
  say("taken over, not saved");
});

document.addEventListener("submit", (event) => {
  // An act is sent once.
  if (event.target.method === "post") for (const button of all("button", event.target)) setTimeout(() => { button.disabled = true; });
});

addEventListener("keydown", (event) => {
  if (event.target.id !== "find" || event.key !== "Enter") return;
  event.preventDefault();
  const words = event.target.value;
  find(words, lastFound?.words === words ? lastFound : null);
});

tellTimes();
setInterval(tellTimes, 15000);
watchWindows();
watchFiles();
loadComparison();
listen();
