// Making nodes. Everything that comes out of episodes goes in as text: there is no innerHTML anywhere in this page.

const byId = (id) => document.getElementById(id);

/** Makes an element; `attributes.class` and the others are set as attributes, children are nodes or texts. */
function node(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, String(value));
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** A long text that shows its beginning and opens on demand. */
function longText(text, name = "text") {
  const body = node("div", { class: "text" }, text);
  if (text.length < 500 && text.split("\n").length < 7) return body;
  body.classList.add("clamped");
  const button = node("button", { type: "button", class: "more", "aria-expanded": "false" }, `Show all of the ${name}`);
  button.addEventListener("click", () => unclamp(button, body.classList.contains("clamped"), name));
  return node("div", { class: "long", "data-name": name }, body, button);
}

function unclamp(button, open, name) {
  button.previousElementSibling.classList.toggle("clamped", !open);
  button.setAttribute("aria-expanded", String(open));
  button.textContent = open ? "Show less" : `Show all of the ${name}`;
}

/** Opens, or if all are open closes, every text and fold inside an element. */
function toggleAll(inside) {
  const folds = [...inside.querySelectorAll("details")];
  const texts = [...inside.querySelectorAll(".long")];
  const open = folds.some((one) => !one.open) || texts.some((one) => one.firstChild.classList.contains("clamped"));
  for (const fold of folds) fold.open = open;
  for (const one of texts) unclamp(one.lastChild, open, one.dataset.name);
}

function fold(title, ...children) {
  return node("details", {}, node("summary", {}, title), ...children);
}

function panel(title, ...children) {
  return node("section", { class: "panel" }, node("h3", {}, title), ...children);
}

const percent = (value) => (value === null || value === undefined ? "–" : (100 * value).toFixed(1).replace(/\.0$/, ""));

const plural = (count, one, many = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
