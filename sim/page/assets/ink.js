// Ink: what is drawn alike becomes one path, so that a picture of thousands of
// marks has some dozens of elements, and is drawn anew within a frame.

const picture = element('picture');

function draw(parent, name, attributes, text) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}

// ink has, for each class of marks, the outlines that are not drawn yet.
const ink = new Map();

function mark(name, outline) {
  const list = ink.get(name);
  if (list) list.push(outline); else ink.set(name, [outline]);
}

// dry draws what was marked, class after class in the order of their first marks.
function dry(parent) {
  for (const [name, outlines] of ink) draw(parent, 'path', { class: name, d: outlines.join('') });
  ink.clear();
}

const tenth = (x) => Math.round(x * 10) / 10; // of a pixel

const line = (name, x1, y1, x2, y2) => mark(name, `M${tenth(x1)} ${tenth(y1)}L${tenth(x2)} ${tenth(y2)}`);
const box = (name, x, y, width, height) => mark(name, `M${tenth(x)} ${tenth(y)}h${tenth(width)}v${height}h${-tenth(width)}z`);
const dot = (name, x, y) => mark(name, `M${tenth(x)} ${tenth(y)}h0`); // a round line end
const cross = (name, x, y) => mark(name, `M${tenth(x - 4)} ${tenth(y - 4)}l8 8m-8 0l8 -8`);

// arrow is a line with a head at its end.
function arrow(name, x1, y1, x2, y2) {
  line(name, x1, y1, x2, y2);
  const far = Math.hypot(x2 - x1, y2 - y1) || 1, dx = (x2 - x1) / far, dy = (y2 - y1) / far;
  const point = (back, aside) => `${tenth(x2 - back * dx - aside * dy)} ${tenth(y2 - back * dy + aside * dx)}`;
  mark('tip', `M${point(0, 0)}L${point(8, 3.5)}L${point(8, -3.5)}z`);
}

// The hatches by which a server's truth and an overlap are told apart without colour.
{
  const defs = draw(picture, 'defs', {});
  const hatch = draw(defs, 'pattern', { id: 'hatch', width: 7, height: 7, patternUnits: 'userSpaceOnUse' });
  draw(hatch, 'path', { d: 'M0,7 L7,0' });
  const crossed = draw(defs, 'pattern', { id: 'cross', width: 9, height: 9, patternUnits: 'userSpaceOnUse' });
  draw(crossed, 'path', { d: 'M0,9 L9,0 M0,0 L9,9' });
}
