// The picture: beliefs over the servers' truth, then a lane for each actor with
// the messages between them. Only the part in view is drawn.

const picture = element('picture'), frame = element('diagram');
const gutter = 74, rowHeight = 22, laneHeight = 46, top0 = 24, many = 1500, mostClients = 12;
const view = { zoom: 1, truly: false, lock: 0, lanes: [], overlaps: [], cursor: 0 };
let places = new Float64Array(total + 1); // of the events, before zooming

// arrange gives each event its place: in true time, or with quiet times cut short.
function arrange() {
  let x = 0;
  for (let k = 0; k < total; k++) {
    const gap = k > 0 ? events[k].t - events[k - 1].t : 0;
    x = view.truly ? events[k].t / millisecond : x + (k === 0 ? 8 : 7 + 9 * Math.log2(1 + gap / millisecond));
    places[k] = x;
  }
  places[total] = x + 40;
}

// indexAt is the last event at or before a true time.
function indexAt(t) {
  let low = 0, high = total;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (events[middle].t <= t) low = middle + 1; else high = middle;
  }
  return low - 1;
}

// placeOfTime is the place of a true time between two events.
function placeOfTime(t) {
  const k = indexAt(t);
  if (k < 0) return places[0];
  if (k >= total - 1) return places[total - 1] + Math.min(40, (t - end) / millisecond);
  const span = events[k + 1].t - events[k].t;
  return places[k] + (places[k + 1] - places[k]) * ((t - events[k].t) / span);
}

const screen = (place) => gutter + place * view.zoom - frame.scrollLeft;
const xOf = (k) => screen(places[k]);

function draw(parent, name, attributes, text) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}

// chooseLanes takes the lanes that were asked for, or as many clients as fit,
// first those that took part in an overlap, then those that want the lock.
function chooseLanes(wanted) {
  const asked = wanted.split(/[\s,]+/).filter((name) => actors.includes(name));
  if (asked.length > 0) {
    view.lanes = actors.filter((name) => asked.includes(name));
    return;
  }
  const rank = new Map(events.filter((e) => e.kind === 'acquire' && e.lock === view.lock).map((e) => [e.actor, 1]));
  for (const o of view.overlaps) for (const name of o.clients) rank.set(name, 2);
  const of = (name) => rank.get(name) || 0;
  const clients = actors.filter(isClient).sort((a, b) => of(b) - of(a)).slice(0, mostClients);
  const others = actors.filter((name) => !isClient(name)).slice(0, 2 * mostClients);
  view.lanes = actors.filter((name) => clients.includes(name) || others.includes(name));
}

// rows are the strips above the lanes: who believes, and what each server has.
function rows() {
  const list = [];
  for (const client of view.lanes.filter(isClient)) {
    const own = beliefs.filter((b) => b.client === client && b.lock === view.lock);
    if (own.length > 0) list.push({ name: client, about: 'believes', beliefs: own });
  }
  const key = locks.get(view.lock);
  for (const node of view.lanes.filter(isServer)) {
    for (const [name, states] of history.get(node) || []) {
      if (name === key || key && name.startsWith(key + '.')) list.push({ name: node, about: name === key ? 'has' : name, states });
    }
  }
  return list;
}

let strips = [];

// layout sets the places of strips and lanes, and the size of the picture.
function layout() {
  strips = rows();
  strips.forEach((row, k) => { row.y = top0 + k * rowHeight; });
  view.cuts = top0 + strips.length * rowHeight + 6;
  const cutRows = Math.min(6, bands.reduce((most, b) => (b.lane === '' ? Math.max(most, b.level + 1) : most), 0));
  const lanes0 = view.cuts + cutRows * 17 + 26;
  view.y = new Map(view.lanes.map((name, k) => [name, lanes0 + k * laneHeight]));
  view.height = lanes0 + view.lanes.length * laneHeight;
  element('width').style.width = gutter + places[total] * view.zoom + 'px';
  picture.setAttribute('height', view.height);
}

function defineHatches() {
  const defs = draw(picture, 'defs', {});
  const hatch = draw(defs, 'pattern', { id: 'hatch', width: 7, height: 7, patternUnits: 'userSpaceOnUse' });
  draw(hatch, 'path', { d: 'M0,7 L7,0' });
  const cross = draw(defs, 'pattern', { id: 'cross', width: 9, height: 9, patternUnits: 'userSpaceOnUse' });
  draw(cross, 'path', { d: 'M0,9 L9,0 M0,0 L9,9' });
  const head = draw(defs, 'marker', { id: 'head', viewBox: '0 0 8 8', refX: 8, refY: 4, markerWidth: 7, markerHeight: 7,
    orient: 'auto' });
  draw(head, 'path', { d: 'M0,0 L8,4 L0,8 z', class: 'tip' });
}

// paint draws what is in view.
function paint() {
  const width = frame.clientWidth;
  picture.setAttribute('width', width);
  picture.replaceChildren();
  defineHatches();
  const scene = { left: gutter, right: width, from: frame.scrollLeft / view.zoom, to: (frame.scrollLeft + width) / view.zoom };
  paintBands(scene);
  paintLanes(scene);
  paintStrips(scene);
  paintMessages(scene);
  paintEvents(scene);
  paintAxis(scene);
  for (const [attributes, text] of captions.splice(0)) draw(picture, 'text', attributes, text);
  paintCursor();
  paintLabels();
}

const inView = (scene, i, j) => places[j] >= scene.from - 200 && places[i] <= scene.to + 200;

function bar(scene, parent, x, x2, y, height, name) {
  const from = Math.max(x, scene.left - 2), to = Math.min(Math.max(x2, x + 3), scene.right + 2);
  if (to <= from) return null;
  draw(parent, 'rect', { x: from, y, width: to - from, height, class: name, rx: 2 });
  return { from: Math.max(from, scene.left), to };
}

// captions are written last, over all bars.
let captions = [];

// caption writes into a bar as much as there is room for.
function caption(place, y, text, name) {
  const room = place ? Math.floor((place.to - place.from - 6) / 6.6) : 0;
  if (room < 2) return;
  captions.push([{ x: place.from + 4, y, class: name }, text.length <= room ? text : text.slice(0, room - 1) + '…']);
}

function paintBands(scene) {
  bands.forEach((b) => {
    const y = b.lane === '' ? view.cuts + 17 * b.level : view.y.get(b.lane);
    if (y === undefined || b.level > 5 || !inView(scene, b.i, b.j)) return;
    const place = bar(scene, picture, xOf(b.i), xOf(b.j), b.lane === '' ? y : y - 16, b.lane === '' ? 15 : 32, 'band');
    caption(place, b.lane === '' ? y + 12 : y - 4, visible(b.word), '');
  });
}

// steps are between which the ticks of a clock may lie, in nanoseconds.
const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 3e4, 6e4, 3e5, 6e5, 3.6e6].map((ms) => ms * millisecond);

function paintLanes(scene) {
  const first = Math.max(0, search(scene.from)), last = Math.min(total - 1, search(scene.to) + 1);
  const t0 = events[first]?.t || 0, t1 = events[last]?.t || 0;
  const step = steps.find((s) => (t1 - t0) / s <= 24) || steps[steps.length - 1];
  for (const [name, y] of view.y) {
    draw(picture, 'line', { x1: gutter, x2: scene.right, y1: y, y2: y, class: 'lane' });
    if (name === 'resource') continue;
    const from = localTime(name, t0), to = localTime(name, t1);
    let count = 0;
    for (let local = Math.ceil(from / step) * step; local <= to && count < 200; local += step, count++) {
      const at = trueTime(name, local, t0);
      if (at > t1) break;
      const x = screen(placeOfTime(at));
      if (x >= gutter && at > t0) draw(picture, 'line', { x1: x, x2: x, y1: y - 3, y2: y + 3, class: 'tick' });
    }
  }
}

// search is the last event at or before a place.
function search(place) {
  let low = 0, high = total;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (places[middle] <= place) low = middle + 1; else high = middle;
  }
  return low - 1;
}

function paintStrips(scene) {
  for (const row of strips) {
    for (const b of row.beliefs || []) {
      if (!inView(scene, b.i, b.j)) continue;
      const place = bar(scene, picture, xOf(b.i), b.ended ? xOf(b.j) : screen(places[total]), row.y, 14, 'belief');
      caption(place, row.y + 11, b.client + ' holds' + (b.token ? ' · token ' + b.token : ''), 'onbelief');
      if (b.lease) paintLease(scene, b, row.y + 17);
    }
    (row.states || []).forEach((s, k) => paintTruth(scene, row, s, row.states[k + 1]));
    paintDown(scene, row);
  }
  const height = strips.filter((row) => row.beliefs).length * rowHeight;
  for (const o of view.overlaps) {
    if (!inView(scene, o.i, o.j)) continue;
    const place = bar(scene, picture, xOf(o.i), xOf(o.j), top0 - 3, height + 1, 'overlap');
    if (place) draw(picture, 'text', { x: place.from + 3, y: top0 - 6, class: 'sign bad' }, `✘ ${o.clients.size} believe`);
  }
}

function paintLease(scene, b, y) {
  const until = screen(placeOfTime(trueTime(b.client, localTime(b.client, events[b.i].t) + b.lease, events[b.i].t)));
  const x1 = Math.max(gutter, xOf(b.i)), x2 = Math.min(scene.right, until, b.ended ? xOf(b.j) : until);
  if (x2 > x1) draw(picture, 'line', { x1, x2, y1: y, y2: y, class: 'lease' });
}

// paintTruth draws the state of a key: until the next, its TTL, or the end of the view.
function paintTruth(scene, row, state, following) {
  if (state.text === '' || places[state.i] > scene.to + 200) return;
  let x = screen(places[total]);
  if (state.until < Infinity) x = Math.min(x, screen(placeOfTime(trueTime(row.name, state.until, events[state.i].t))));
  if (following) x = Math.min(x, xOf(following.i));
  const place = bar(scene, picture, xOf(state.i), x, row.y, 15, 'truth');
  const text = state.text.replace(/^(hash|string)\{(.*)\}$/, '$2');
  const whose = state.by && !text.includes(state.by) ? state.by + ': ' : '';
  caption(place, row.y + 12, visible(whose + text), 'ontruth');
}

// paintDown veils what a server has while it is down.
function paintDown(scene, row) {
  for (const b of bands) {
    if (b.lane !== row.name || b.word !== 'down' || !row.states || !inView(scene, b.i, b.j)) continue;
    caption(bar(scene, picture, xOf(b.i), xOf(b.j), row.y - 1, 17, 'veil'), row.y + 12, row.name + ' is down', '');
  }
}

function paintMessages(scene) {
  const seen = messages.filter((m) => view.y.has(m.from) && view.y.has(m.to) && inView(scene, m.i, Math.max(m.i, m.j)));
  const every = Math.ceil(seen.length / many);
  seen.forEach((m, k) => {
    if (k % every === 0 || m.lost || m.late || m.twice) paintMessage(m);
  });
  view.thinned = every;
}

function paintMessage(m) {
  const y1 = view.y.get(m.from), y2 = view.y.get(m.to), x1 = xOf(m.i);
  if (m.lost || m.j < 0) {
    const x2 = x1 + 14, y = y1 + (y2 - y1) * 0.45;
    draw(picture, 'line', { x1, y1, x2, y2: y, class: 'message ' + (m.lost ? 'lost' : 'nowhere') });
    if (m.lost) draw(picture, 'text', { x: x2 - 5, y: y + 5, class: 'sign bad' }, '✕');
    return;
  }
  const x2 = xOf(m.j), kind = m.late ? ' late' : m.twice ? ' twice' : '';
  draw(picture, 'line', { x1, y1, x2, y2, class: 'message' + kind, 'marker-end': 'url(#head)' });
  const sign = [m.twice ? '2×' : '', m.late ? 'late' : ''].filter(Boolean).join(' ');
  if (sign) draw(picture, 'text', { x: (x1 + x2) / 2, y: (y1 + y2) / 2, class: 'sign warn' }, sign);
}

// paintEvents puts a dot where an actor did or believed something, and words at faults.
function paintEvents(scene) {
  const first = Math.max(0, search(scene.from - 20)), last = Math.min(total - 1, search(scene.to + 20));
  const every = Math.ceil((last - first) / many);
  for (let k = first; k <= last; k++) {
    const e = events[k], y = view.y.get(e.actor);
    if (y === undefined || e.kind === 'send' || e.kind === 'deliver' || every > 1 && k % every > 0 && !beliefKinds.has(e.kind)) continue;
    if (e.kind === 'reject') draw(picture, 'text', { x: xOf(k) - 5, y: y + 5, class: 'sign bad' }, '✕');
    else draw(picture, 'circle', { cx: xOf(k), cy: y, r: beliefKinds.has(e.kind) ? 5 : 2.5, class: 'dot ' + e.kind });
  }
  for (const m of marks) {
    const y = view.y.get(m.lane);
    if (y === undefined || !inView(scene, m.i, m.i)) continue;
    draw(picture, 'text', { x: xOf(m.i) + 2, y: y - 6, class: 'sign warn' }, '⚡' + m.word);
  }
}

function paintAxis(scene) {
  let next = gutter + 4;
  const first = Math.max(0, search(scene.from)), last = Math.min(total - 1, search(scene.to));
  const axis = view.height - 6;
  for (let k = first; k <= last; k++) {
    const x = xOf(k);
    if (x >= next && x < scene.right - 50) {
      draw(picture, 'text', { x, y: axis, class: 'soft' }, seconds(events[k].t) + ' s');
      next = x + 84;
    }
    const gap = k > 0 ? events[k].t - events[k - 1].t : 0;
    if (!view.truly && gap > 200 * millisecond && places[k] - places[k - 1] > 30 / view.zoom) {
      const middle = (x + xOf(k - 1)) / 2;
      if (middle > gutter) draw(picture, 'text', { x: middle - 4, y: axis - 14, class: 'soft' }, '≈');
    }
  }
}

function paintCursor() {
  const e = events[view.cursor], x = xOf(view.cursor);
  if (!e || x < gutter - 1) return;
  draw(picture, 'line', { x1: x, x2: x, y1: 14, y2: view.height - 18, class: 'now' });
  const y = view.y.get(e.actor) ?? view.y.get(e.peer);
  if (y !== undefined) draw(picture, 'circle', { cx: x, cy: y, r: 8, class: 'at' });
}

// paintLabels writes the names of the rows, over whatever scrolled below them.
function paintLabels() {
  draw(picture, 'rect', { x: 0, y: 0, width: gutter - 2, height: view.height, class: 'label' });
  for (const row of strips) {
    draw(picture, 'text', { x: 4, y: row.y + 12 }, row.name + ' ' + visible(row.about).slice(0, 9));
  }
  const t = events[view.cursor]?.t || 0;
  for (const [name, y] of view.y) {
    draw(picture, 'text', { x: 4, y: y + 4, class: 'head' }, visible(name).slice(0, 10));
    const off = localTime(name, t) - t;
    if (Math.abs(off) >= millisecond) {
      draw(picture, 'text', { x: 4, y: y + 18, class: 'sign warn' }, (off < 0 ? '−' : '+') + (Math.abs(off) / second).toFixed(2) + ' s');
    }
  }
}

let painting = false;
function repaint() {
  if (painting) return;
  painting = true;
  requestAnimationFrame(() => {
    painting = false;
    paint();
  });
}

// rearrange is for a change of what is shown: lock, lanes, kind of time.
function rearrange() {
  arrange();
  view.overlaps = overlapsOf(view.lock);
  chooseLanes(element('lanes').value);
  layout();
  repaint();
}

function zoomTo(zoom) {
  const middle = (view.cursor < total ? places[view.cursor] : 0);
  view.zoom = Math.min(Math.max(zoom, 1e-5), 40);
  layout();
  frame.scrollLeft = middle * view.zoom - (frame.clientWidth - gutter) / 2;
  repaint();
}

const fit = () => zoomTo((frame.clientWidth - gutter - 10) / places[total]);
