// Pictures by number: inside the page in blocks of base 64, or beside it in a folder.

const pictureBlocks = new Map();

function pictureUrl(number) {
  if (INDEX.pictures.none) return "";
  if (INDEX.pictures.beside) return `pictures/${String(number).padStart(6, "0")}.webp`;
  const block = Math.floor(number / INDEX.blocks.pictures);
  if (!pictureBlocks.has(block)) pictureBlocks.set(block, JSON.parse(byId(`pictures-${block}`).textContent));
  const data = pictureBlocks.get(block)[number % INDEX.blocks.pictures];
  return data ? `data:image/webp;base64,${data}` : "";
}

function picture(number, description, kind = "") {
  const url = number === null || number === undefined ? "" : pictureUrl(number);
  if (!url) return node("div", { class: "gone", role: "img", "aria-label": description }, "not in the page");
  return node("img", { src: url, alt: description, class: kind, decoding: "async" });
}

/** A picture in a frame, with the boxes that were cut out of it. */
function framed(number, description, boxes = [], chosen = false) {
  const frame = node("div", { class: chosen ? "frame chosen" : "frame" }, picture(number, description));
  for (const { id, box } of boxes) {
    const mark = node("div", { class: "crop", title: `${id} = [${box.join(", ")}]` }, node("span", {}, id.replace("IMG_", "")));
    mark.style.left = `${box[0] / 10}%`;
    mark.style.top = `${box[1] / 10}%`;
    mark.style.width = `${(box[2] - box[0]) / 10}%`;
    mark.style.height = `${(box[3] - box[1]) / 10}%`;
    frame.append(mark);
  }
  return frame;
}

/** The crops that an episode made of a picture. */
function cropsOf(images, parent) {
  return Object.entries(images)
    .filter(([, one]) => one.parent === parent)
    .map(([id, one]) => ({ id, box: one.box }));
}

/** One picture of an episode with its caption. */
function imageFigure(details, id, size, boxes = cropsOf(details.images, id)) {
  const one = details.images[id];
  const chosen = details.answer !== null && details.answer.references.includes(id);
  const number = size === "large" && one.large !== null ? one.large : one.small;
  const caption = node("figcaption", {}, node("b", {}, id), chosen ? " · reference" : "", ` · ${one.size.join("×")}`);
  if (one.parent !== null) caption.append(` · cut from ${one.parent} [${one.box.join(", ")}]`);
  else caption.append(node("br"), one.title, node("br"), one.page);
  const description = `${id}${chosen ? ", a reference" : ""}: ${one.title}`;
  return node("figure", { class: size === "large" ? "" : "small" }, framed(number, description, boxes, chosen), caption);
}

/** A reference, and below it what it was cut from, back to the downloaded picture. */
function lineage(details, id) {
  const made = node("div", {}, imageFigure(details, id, "large", []));
  for (let one = id; details.images[one].parent !== null; one = details.images[one].parent) {
    const { parent, box } = details.images[one];
    made.append(node("div", { class: "origin" }, imageFigure(details, parent, "large", [{ id: one, box }])));
  }
  return made;
}
