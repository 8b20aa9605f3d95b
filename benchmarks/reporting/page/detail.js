// One episode: what was asked, what came of it, what judges said, and how the agent got there.

function detailNodes(row, details) {
  return [
    headingNode(row, details),
    node("p", { class: "prompt-text" }, details.task.prompt),
    scoresNode(row),
    details.failure ? node("p", { class: "error", role: "alert" }, `The episode failed: ${details.failure}`) : null,
    hiddenNode(details),
    resultNode(details),
    answerNode(details),
    verdictsNode(details),
    turnsNode(details),
    usageNode(details),
    openingNode(details),
  ].filter(Boolean);
}

function headingNode(row, details) {
  const about = [
    [details.task.domain, details.task.subcategory].filter(Boolean).join(" › "),
    details.task.issued ? `issued ${details.task.issued}` : "",
    `agent ${row.agent}`,
    `seed ${row.seed}`,
    `ended: ${row.end}`,
  ];
  const others = EPISODES.filter((one) => one.task === row.task && one.number !== row.number);
  const links = others.map((one) => node("a", { href: `#${encodeURIComponent(one.key)}` }, `${one.agent}, seed ${one.seed}: ${one.outcome}`));
  return node(
    "div",
    { class: "heading" },
    node("h2", {}, row.task),
    outcomeBadge(row),
    node("span", { class: "about" }, about.filter(Boolean).join(" · ")),
    links.length ? node("span", { class: "about" }, "same task: ", ...links.flatMap((one, place) => (place ? ["; ", one] : [one]))) : null,
  );
}

function scoresNode(row) {
  const list = node("ul", { class: "scores", "aria-label": "Scores in percent" });
  const add = (name, text) => list.append(node("li", {}, node("b", {}, text), name));
  for (const [name, value] of Object.entries(row.rewards)) add(`${name}, %`, value === null ? "unscored" : percent(value));
  add("reward, %", row.reward === null ? "not valid" : percent(row.reward));
  if (row.kappa !== null) add("confusion κ", String(row.kappa));
  add("tool calls", String(row.calls));
  return list;
}

function hiddenNode(details) {
  if (!details.target && !details.rubric.length) return null;
  return node(
    "div",
    { class: "hidden-half" },
    "Hidden from the agent: the target is ",
    node("b", {}, details.target || "not known here"),
    details.rubric.length ? "; the context criteria are" : "",
    details.rubric.length ? listOf(details.rubric) : null,
  );
}

function resultNode(details) {
  const references = details.answer === null ? [] : details.answer.references;
  const one = (title, ...children) => node("section", { class: "panel" }, node("h3", {}, title), ...children);
  const truth = details.truth.map((number, place) => node("figure", {}, framed(number, `Ground truth ${place + 1}`)));
  return node(
    "div",
    { class: "columns" },
    one(
      references.length === 1 ? "Reference" : `References (${references.length})`,
      ...(references.length ? references.map((id) => lineage(details, id)) : [node("p", { class: "empty" }, "none")]),
    ),
    one("Ground truth", truth.length ? node("div", { class: "pictures" }, ...truth) : node("p", { class: "empty" }, "no judge recorded it")),
    one(
      "Generated",
      details.drawn
        ? node(
            "figure",
            {},
            framed(details.drawn.large, "The generated picture"),
            node("figcaption", {}, `${details.drawn.generator}, seed ${details.drawn.seed}`),
          )
        : node("p", { class: "empty" }, "nothing was drawn"),
    ),
  );
}

function answerNode(details) {
  if (details.answer === null) return panel("Refined prompt", node("p", { class: "empty" }, "no answer"));
  return panel("Refined prompt", longText(details.answer.prompt, "prompt"));
}

function verdictsNode(details) {
  if (!details.verdicts.length) return panel("Verdicts", node("p", { class: "empty" }, "no judge was asked"));
  const made = details.verdicts.map((verdict) => {
    const value = verdict.value === null ? "unscored" : percent(verdict.value) + " %";
    const parts = Object.entries(verdict.parts).map(([name, part]) => `${name} ${part === null ? "–" : percent(part)}`);
    const used = Object.entries(verdict.usage).map(([name, count]) => `${name.replaceAll("_", " ")} ${count}`);
    return node(
      "div",
      { class: "verdict" },
      node("p", {}, node("b", {}, verdict.judge), ": ", node("b", {}, value)),
      parts.length ? node("p", { class: "parts" }, parts.join(" · ")) : null,
      longText(verdict.reason, "reason"),
      used.length ? node("p", { class: "soft" }, used.join(" · ")) : null,
      verdict.evidence ? fold("Evidence", node("pre", {}, verdict.evidence)) : null,
    );
  });
  return panel("Verdicts", ...made);
}

function usageNode(details) {
  const told = Object.entries(details.usage).map(([name, count]) => `${name.replaceAll("_", " ")} ${count.toLocaleString("en")}`);
  if (details.seconds !== undefined) told.push(`${details.seconds.toFixed(3)} s in tools`);
  return panel("What it took", node("p", { class: "soft" }, `${told.join(" · ")} · web ${details.web}`));
}

function openingNode(details) {
  return panel("What the agent was told at first", ...details.opening.map((one) => node("div", {}, node("p", { class: "soft" }, one.role), longText(one.text, "message"))));
}
