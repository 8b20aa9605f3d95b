// Addresses, keys and the two views.

const REPORT = "#/report";

/** Opens an episode by putting it into the address. */
function open(number) {
  const address = `#${encodeURIComponent(EPISODES[number].key)}`;
  if (location.hash === address) show();
  else location.hash = address;
}

/** Shows what the address names. */
async function show() {
  const report = location.hash === REPORT;
  byId("report").hidden = !report;
  byId("episodes").hidden = report;
  byId("tab-report").setAttribute("aria-pressed", String(report));
  byId("tab-episodes").setAttribute("aria-pressed", String(!report));
  if (report) return;
  drawRows(true);
  const detail = byId("detail");
  const key = named(location.hash.slice(1));
  const number = numberOf.get(key);
  if (number === undefined) {
    choose(null);
    const text = key ? `There is no episode “${key}” in this page.` : "Choose an episode from the list, or press j.";
    detail.replaceChildren(node("p", { class: "empty" }, text));
    return;
  }
  choose(number);
  let made;
  try {
    made = detailNodes(EPISODES[number], await detailsOf(number));
  } catch (error) {
    made = [node("p", { class: "error", role: "alert" }, `This episode cannot be shown: ${error.message}`)];
  }
  // Another one may have been chosen while this one was unpacked.
  if (state.chosen !== number) return;
  detail.replaceChildren(...made);
  detail.scrollTop = 0;
  if (matchMedia("(max-width: 860px)").matches) detail.scrollIntoView();
  detail.setAttribute("aria-label", `Episode ${EPISODES[number].task}`);
  document.title = `${EPISODES[number].task} · ${INDEX.title}`;
}

function named(written) {
  try {
    return decodeURIComponent(written);
  } catch {
    return written;
  }
}

function onKey(event) {
  const field = event.target.closest("input, select, textarea");
  if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
  if (event.key === "Escape" && field) return field.blur();
  const inList = event.target === byId("list");
  const down = event.key === "j" || (inList && event.key === "ArrowDown");
  const up = event.key === "k" || (inList && event.key === "ArrowUp");
  if (field) {
    if (event.target === byId("search") && event.key === "Enter") {
      event.preventDefault();
      byId("list").focus();
      if (state.shown.length) open(state.shown[0].number);
    }
    return;
  }
  const acts = {
    "/": () => {
      location.hash === REPORT && back();
      byId("search").focus();
      byId("search").select();
    },
    "?": () => byId("help").showModal(),
    r: () => (location.hash = REPORT),
    e: back,
    x: () => toggleAll(byId("detail")),
  };
  const act = down ? () => move(1) : up ? () => move(-1) : acts[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}

/** Returns to the episodes, to the chosen one if there is one. */
function back() {
  location.hash = state.chosen === null ? "" : encodeURIComponent(EPISODES[state.chosen].key);
}

function switchTheme() {
  const dark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
}

function start() {
  byId("title").textContent = INDEX.title;
  byId("note").textContent = INDEX.note || "";
  byId("note").hidden = !INDEX.note;
  fillFilters();
  fillReport();
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("filters").addEventListener("input", applyFilters);
  byId("clear").addEventListener("click", () => {
    byId("filters").reset();
    applyFilters();
  });
  byId("list").addEventListener("scroll", () => drawRows());
  addEventListener("resize", () => drawRows());
  addEventListener("hashchange", show);
  addEventListener("keydown", onKey);
  byId("theme").addEventListener("click", switchTheme);
  byId("help-open").addEventListener("click", () => byId("help").showModal());
  byId("tab-report").addEventListener("click", () => (location.hash = REPORT));
  byId("tab-episodes").addEventListener("click", back);
  applyFilters();
  show();
  document.documentElement.dataset.ready = "true";
}

start();
