// The list of episodes: filters, order, and only as many rows on the screen as fit.

const ROW = 74;
const SPARE = 6;
const state = { shown: [], chosen: null, first: -1, last: -1 };

const fields = {
  domain: { select: byId("filter-domain"), all: "all domains", of: (row) => row.domain },
  end: { select: byId("filter-end"), all: "all end reasons", of: (row) => row.end },
  bucket: { select: byId("filter-bucket"), all: "all κ", of: (row) => row.bucket },
  agent: { select: byId("filter-agent"), all: "all agents", of: (row) => row.agent },
};

const outcomeTests = {
  passed: (row) => row.outcome === "passed",
  failed: (row) => row.outcome === "failed",
  scored: (row) => row.outcome === "scored",
  unscored: (row) => row.outcome === "unscored",
};

function option(value, text) {
  return node("option", { value }, text);
}

function fillFilters() {
  for (const field of Object.values(fields)) {
    const counts = new Map();
    for (const row of EPISODES) counts.set(field.of(row), (counts.get(field.of(row)) || 0) + 1);
    counts.delete(null);
    field.select.append(option("", field.all));
    const order = field === fields.bucket ? INDEX.buckets.filter((name) => counts.has(name)) : [...counts.keys()].sort();
    for (const value of order) field.select.append(option(`=${value}`, `${value || "(none)"} (${counts.get(value)})`));
    field.select.closest("label").hidden = counts.size < 1;
  }
  const outcome = byId("filter-outcome");
  outcome.append(option("", "all outcomes"));
  for (const [name, test] of Object.entries(outcomeTests)) {
    const count = EPISODES.filter(test).length;
    if (count) outcome.append(option(name, `${name} (${count})`));
  }
  const kinds = new Map();
  for (const row of EPISODES) if (row.failure) kinds.set(row.failure, (kinds.get(row.failure) || 0) + 1);
  if (kinds.size) {
    const group = node("optgroup", { label: "failed because of" });
    for (const kind of [...kinds.keys()].sort()) group.append(option(`kind:${kind}`, `${kind} (${kinds.get(kind)})`));
    outcome.append(group);
  }
  const names = [...new Set(EPISODES.flatMap((row) => Object.keys(row.rewards)))];
  for (const [value, text] of [
    ["task", "task"],
    ...["reward", ...names].flatMap((name) => [
      [`-${name}`, `${name}, high first`],
      [`+${name}`, `${name}, low first`],
    ]),
    ["-kappa", "κ, high first"],
    ["+kappa", "κ, low first"],
    ["-calls", "tool calls, many first"],
    ["+calls", "tool calls, few first"],
  ]) {
    byId("sort").append(option(value, text));
  }
}

function sortValue(row, name) {
  if (name === "kappa" || name === "calls" || name === "reward") return row[name];
  return row.rewards[name];
}

/** Applies filters and order, and shows the list from its top. */
function applyFilters() {
  const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const outcome = byId("filter-outcome").value;
  const test = outcome.startsWith("kind:") ? (row) => row.failure === outcome.slice(5) : outcomeTests[outcome] || (() => true);
  const chosen = Object.values(fields).filter((field) => field.select.value);
  const unscored = byId("unscored").checked;
  state.shown = EPISODES.filter(
    (row) =>
      test(row) &&
      (!unscored || row.reward === null) &&
      chosen.every((field) => `=${field.of(row)}` === field.select.value) &&
      words.every((word) => row.haystack.includes(word)),
  );
  const order = byId("sort").value;
  if (order !== "task") {
    const sign = order[0] === "-" ? -1 : 1;
    const name = order.slice(1);
    // What is not known comes last, whichever way the rest goes.
    state.shown.sort((one, other) => {
      const [a, b] = [sortValue(one, name), sortValue(other, name)];
      if (a === null || a === undefined || b === null || b === undefined) {
        return (b !== null && b !== undefined) - (a !== null && a !== undefined) || one.number - other.number;
      }
      return sign * (a - b) || one.number - other.number;
    });
  }
  byId("count").textContent =
    state.shown.length === EPISODES.length
      ? plural(EPISODES.length, "episode")
      : `${state.shown.length.toLocaleString("en")} of ${plural(EPISODES.length, "episode")}`;
  byId("rows").style.height = `${state.shown.length * ROW}px`;
  byId("list").scrollTop = 0;
  drawRows(true);
}

function drawRows(anew = false) {
  const list = byId("list");
  const first = Math.max(0, Math.floor(list.scrollTop / ROW) - SPARE);
  const last = Math.min(state.shown.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW) + SPARE);
  if (!anew && first === state.first && last === state.last) return;
  [state.first, state.last] = [first, last];
  const rows = state.shown.slice(first, last).map((row, offset) => rowNode(row, first + offset));
  byId("rows").replaceChildren(...rows);
  const active = rows.find((one) => one.getAttribute("aria-selected") === "true");
  if (active) list.setAttribute("aria-activedescendant", active.id);
  else list.removeAttribute("aria-activedescendant");
  if (!state.shown.length) {
    byId("rows").replaceChildren(node("p", { class: "empty count" }, "No episode fits these filters."));
  }
}

function rowNode(row, place) {
  const told = [row.domain];
  if (INDEX.runs.length > 1) told.unshift(row.agent);
  if (row.kappa !== null) told.push(`κ ${row.kappa}`);
  const made = node(
    "div",
    {
      class: "row",
      role: "option",
      id: `row-${row.number}`,
      "aria-selected": String(row.number === state.chosen),
      "aria-setsize": state.shown.length,
      "aria-posinset": place + 1,
    },
    row.thumb === null ? node("div", { class: "thumb" }) : picture(row.thumb, "", "thumb"),
    node("div", { class: "name" }, row.task),
    outcomeBadge(row),
    node("div", { class: "told" }, told.join(" · ")),
    node("div", { class: "prompt" }, row.prompt),
  );
  made.style.top = `${place * ROW}px`;
  made.addEventListener("click", () => open(row.number));
  return made;
}

/** Moves the choice up or down the list. */
function move(by) {
  if (!state.shown.length) return;
  const now = state.shown.findIndex((row) => row.number === state.chosen);
  const next = now < 0 ? 0 : Math.min(state.shown.length - 1, Math.max(0, now + by));
  open(state.shown[next].number);
}

/** Marks an episode as chosen and brings its row into view. */
function choose(number) {
  state.chosen = number;
  const place = state.shown.findIndex((row) => row.number === number);
  const list = byId("list");
  if (place >= 0) {
    if (place * ROW < list.scrollTop) list.scrollTop = place * ROW;
    else if ((place + 1) * ROW > list.scrollTop + list.clientHeight) list.scrollTop = (place + 1) * ROW - list.clientHeight;
  }
  drawRows(true);
}
