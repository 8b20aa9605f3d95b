// How the agent got there: its turns, their calls and replies, and what the date cutoff removed.

function turnsNode(details) {
  const turns = details.turns.map((turn, place) =>
    node(
      "li",
      { class: "turn", "data-number": place + 1 },
      turn.said ? longText(turn.said, "turn") : null,
      turn.unreadable ? node("p", { class: "error" }, `Unreadable as a call: ${turn.unreadable.error}`) : null,
      ...turn.calls.map((call) => callNode(details, call)),
    ),
  );
  return panel(`Turns (${turns.length})`, node("ol", { class: "turns" }, ...turns));
}

function callNode(details, call) {
  const named = Object.entries(call.arguments).flatMap(([name, value]) => [node("dt", {}, name), node("dd", {}, value)]);
  const step = call.step;
  const seconds = step && step.seconds !== undefined ? node("span", { class: "soft" }, `${step.seconds.toFixed(3)} s`) : null;
  return node(
    "div",
    { class: "call" },
    node("h4", {}, node("code", {}, call.name), step && !step.ok ? node("span", { class: "badge bad" }, "✗ error") : null, seconds),
    node("dl", { class: "arguments" }, ...named),
    replyNode(details, call),
    step && step.notes.length ? fold(plural(step.notes.length, "note"), listOf(step.notes)) : null,
    cutoffNode(call),
  );
}

function replyNode(details, call) {
  if (!call.reply.length) {
    return call.step && call.step.error ? node("p", { class: "error" }, call.step.error) : null;
  }
  const made = [];
  const blocks = call.reply;
  const ids = blocks.filter((block) => block.image).map((block) => block.image);
  for (let place = 0; place < blocks.length; place += 1) {
    const next = blocks[place + 1];
    // The line above a picture says what its caption says.
    if (blocks[place].text !== undefined && !(next && next.image && blocks[place].text.startsWith(next.image))) {
      made.push(longText(blocks[place].text, "reply"));
    }
  }
  if (ids.length) made.push(picturesNode(details, ids));
  return made.length ? node("div", { class: call.step && !call.step.ok ? "reply error" : "reply" }, ...made) : null;
}

function picturesNode(details, ids) {
  const crops = ids.filter((id) => details.images[id].parent !== null);
  if (crops.length === ids.length) return node("div", {}, ...crops.map((id) => cropNode(details, id)));
  return node("div", { class: "pictures" }, ...ids.map((id) => imageFigure(details, id, "small")));
}

function cropNode(details, id) {
  const { parent, box } = details.images[id];
  return node(
    "div",
    { class: "pictures" },
    imageFigure(details, parent, "large", [{ id, box }]),
    node("span", { class: "arrow", "aria-hidden": "true" }, "→"),
    imageFigure(details, id, "large"),
  );
}

function cutoffNode(call) {
  const kept = `${call.kept} kept${call.undated ? `, ${call.undated} of them undated` : ""}`;
  if (!call.removed.length) return call.kept ? node("p", { class: "soft" }, `Date cutoff: nothing removed, ${kept}`) : null;
  const lines = call.removed.map((one) => `${one.url}: ${one.reason}`);
  if (call.more) lines.push(`and ${call.more} more`);
  return fold(`Date cutoff: ${plural(call.removed.length + call.more, "result")} removed, ${kept}`, listOf(lines));
}

function listOf(lines) {
  return node("ul", {}, ...lines.map((line) => node("li", {}, line)));
}
