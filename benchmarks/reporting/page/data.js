// The data of the page: an index of all episodes, and details in packed blocks that are opened when they are looked at.

const INDEX = JSON.parse(byId("index").textContent);
const EPISODES = INDEX.episodes;
const detailBlocks = new Map();

EPISODES.forEach((row, number) => {
  row.number = number;
  row.agent = INDEX.runs[row.run].label;
  row.haystack = [row.task, row.prompt, row.target, row.answer, row.policy].join("\n").toLowerCase();
});

const numberOf = new Map(EPISODES.map((row) => [row.key, row.number]));

/** Resolves to the details of an episode. */
async function detailsOf(number) {
  const block = Math.floor(number / INDEX.blocks.details);
  if (!detailBlocks.has(block)) detailBlocks.set(block, unpack(JSON.parse(byId(`details-${block}`).textContent)));
  return (await detailBlocks.get(block))[number % INDEX.blocks.details];
}

async function unpack(packed) {
  if (typeof DecompressionStream === "undefined") {
    throw new Error("this browser cannot unpack the details; Chromium 80, Firefox 113 or Safari 16.4 can, and later ones");
  }
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

function outcomeBadge(row) {
  const kinds = { passed: ["good", "✓ passed"], failed: ["bad", `✗ ${row.failure || "failed"}`], scored: ["good", "scored"] };
  const [kind, text] = kinds[row.outcome] || ["", `– unscored: ${row.end}`];
  return node("span", { class: `badge ${kind}` }, text);
}
