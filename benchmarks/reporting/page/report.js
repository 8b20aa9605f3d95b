// Tables and figures.

function fillReport() {
  const parts = [];
  if (INDEX.figures.length) {
    const drawn = INDEX.figures.map((one) => node("figure", {}, node("img", { src: one.data, alt: `${one.title}. ${one.text}` })));
    parts.push(node("section", {}, node("h2", {}, "Figures"), node("div", { class: "figures" }, ...drawn)));
  }
  for (const table of INDEX.tables) parts.push(tableNode(table));
  byId("report").replaceChildren(...parts);
}

function tableNode(table) {
  const style = (column, head) => [column.paper ? "paper" : "", column.number && !head ? "number" : ""].join(" ").trim() || null;
  const head = node("tr", {}, ...table.columns.map((column) => node("th", { scope: "col", class: style(column, true) }, column.name)));
  const rows = table.rows.map((cells) =>
    node("tr", {}, ...cells.map((cell, place) => node("td", { class: style(table.columns[place], false) }, cell))),
  );
  return node(
    "section",
    { id: `table-${table.name}` },
    node("h2", {}, table.title),
    node("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": table.title }, node("table", {}, node("thead", {}, head), node("tbody", {}, ...rows))),
    ...table.notes.map((note) => node("p", { class: "soft" }, note)),
  );
}
