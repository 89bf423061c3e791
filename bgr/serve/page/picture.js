// A PNG of a drawn graph. Its shapes are drawn on a canvas one by one: the page's security policy allows no images from
// memory, and a canvas that has seen a foreign image could not be read.

const SCALE = 2;
const MAX_SIDE = 16_000; // pixels; browsers refuse larger canvases

/** The PNG as a Blob, with the colors of the page. */
export function toPng(root) {
  const [x, y, width, height] = root.getAttribute("viewBox").split(" ").map(Number);
  const scale = Math.min(SCALE, MAX_SIDE / Math.max(width, height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(width * scale);
  canvas.height = Math.ceil(height * scale);
  const context = canvas.getContext("2d");
  context.fillStyle = getComputedStyle(document.body).getPropertyValue("background-color");
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.scale(scale, scale);
  context.translate(-x, -y);
  for (const group of root.children) {
    context.save();
    const [dx, dy] = (/translate\(([^)]*)\)/.exec(group.getAttribute("transform"))?.[1] ?? "0 0").split(" ").map(Number);
    context.translate(dx, dy);
    for (const shape of group.children) paint(context, shape);
    context.restore();
  }
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the picture is too large"))), "image/png");
  });
}

function paint(context, shape) {
  const style = getComputedStyle(shape);
  const number = (name) => Number(shape.getAttribute(name) ?? 0);
  context.fillStyle = style.fill === "none" ? "transparent" : style.fill;
  context.strokeStyle = style.stroke === "none" ? "transparent" : style.stroke;
  context.lineWidth = parseFloat(style.strokeWidth);
  context.setLineDash(style.strokeDasharray === "none" ? [] : style.strokeDasharray.split(",").map(parseFloat));
  if (shape.tagName === "text") {
    context.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    context.textAlign = { end: "right", start: "left" }[shape.getAttribute("text-anchor") ?? "start"];
    if (style.stroke !== "none") context.strokeText(shape.textContent, number("x"), number("y"));
    context.fillText(shape.textContent, number("x"), number("y"));
    return;
  }
  const path = new Path2D(shape.tagName === "path" ? shape.getAttribute("d") : undefined);
  if (shape.tagName === "rect") path.roundRect(number("x"), number("y"), number("width"), number("height"), number("rx"));
  else if (shape.tagName !== "path") return;
  context.fill(path);
  context.stroke(path);
}
