// The picture: beliefs over the servers' truth, then a lane for each actor with
// the messages between them. Only the part in view is drawn.

const frame = element('diagram');
const gutter = 74, rowHeight = 22, laneHeight = 46, top0 = 24, many = 1500, mostClients = 12;
// A diagram shows at most so many events at once, and is at most so wide.
const mostEvents = 20000, widest = 1 << 24;
// left and width are those of the part in view, in pixels; stale: it is not drawn as it is now;
// span is how much of places it may show; gossip: messages between servers are drawn.
const view = { zoom: 1, truly: false, lock: 0, lanes: [], overlaps: [], cursor: 0, left: 0, width: 0, stale: true, thinned: 1, span: 0,
  gossip: gossip <= 100 || 2 * gossip <= messages.length };
const places = new Float64Array(total + 1); // of the events, before zooming

// arrange gives each event its place: in true time, or with quiet times cut short.
// Those that are not drawn take no room of their own.
function arrange() {
  let x = 8, last = -1;
  for (let k = 0; k < total; k++) {
    const e = events[k], unseen = !view.gossip && (e.kind === 'send' || e.kind === 'deliver') && between(e.actor, e.peer);
    if (view.truly) x = e.t / millisecond;
    else if (unseen && k < total - 1) continue;
    else if (last >= 0) x += 7 + 9 * Math.log2(1 + (e.t - events[last].t) / millisecond);
    spread(last, k, x);
    last = k;
  }
  places[total] = x + 40;
  view.span = places[total];
  for (let k = mostEvents; k < total; k++) view.span = Math.min(view.span, places[k] - places[k - mostEvents]);
}

// spread gives event `to` the place x, and those between it and event `from`, which
// has its place, what lies between by their times.
function spread(from, to, x) {
  places[to] = x;
  const start = from < 0 ? x : places[from], t0 = from < 0 ? 0 : events[from].t, span = events[to].t - t0;
  for (let k = from + 1; k < to; k++) places[k] = span > 0 ? start + (x - start) * ((events[k].t - t0) / span) : start;
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

const screen = (place) => gutter + place * view.zoom - view.left;
const xOf = (k) => screen(places[k]);

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
  view.width = frame.clientWidth;
  view.stale = true;
  element('width').style.width = gutter + places[total] * view.zoom + 'px';
  picture.setAttribute('height', view.height);
}

// slideTo brings a place of the picture to the left edge, as far as that goes.
function slideTo(left) {
  view.left = Math.min(Math.max(0, Math.round(left)), Math.max(0, Math.ceil(gutter + places[total] * view.zoom - view.width)));
  view.stale = true;
  frame.scrollLeft = view.left;
}

const scenery = draw(picture, 'g', {}), overlay = draw(picture, 'g', {});

// paint draws what is in view: all of it only if that has changed.
function paint() {
  if (view.stale) paintScenery();
  view.stale = false;
  overlay.replaceChildren();
  paintCursor();
  paintLabels();
}

function paintScenery() {
  const scene = { left: gutter, right: view.width, from: view.left / view.zoom, to: (view.left + view.width) / view.zoom };
  scene.first = Math.max(0, search(scene.from - 20 / view.zoom));
  scene.last = Math.min(total - 1, search(scene.to) + 1);
  picture.setAttribute('width', view.width);
  scenery.replaceChildren();
  for (const layer of [paintBands, paintLanes, paintStrips, paintDowns, paintOverlaps, paintMessages, paintEvents, paintAxis]) {
    layer(scene);
    dry(scenery);
  }
  for (const [attributes, text] of captions.splice(0)) draw(scenery, 'text', attributes, text);
}

// A thing that lasts from event i to event j is in view.
const inView = (scene, i, j) => places[j] >= scene.from - 200 && places[i] <= scene.to + 200;

function bar(scene, x, x2, y, height, name) {
  const from = Math.max(x, scene.left - 2), to = Math.min(Math.max(x2, x + 3), scene.right + 2);
  if (to <= from) return null;
  box(name, from, y, to - from, height);
  return { from: Math.max(from, scene.left), to };
}

// captions are written last, over all bars; of two at one place the later one.
const captions = [];

// caption writes into a bar as much as there is room for.
function caption(place, y, text, name) {
  const room = place ? Math.floor((place.to - place.from - 6) / 6.6) : 0;
  if (room < 2) return;
  const x = place.from + 4, fit = (all, count) => all.length <= count ? all : all.slice(0, count - 1) + '…';
  for (let k = captions.length; k-- > 0;) { // what is written there already ends where this one begins
    const [other, before] = captions[k];
    if (other.y !== y || other.x > x) continue;
    const left = Math.floor((x - 4 - other.x) / 6.6);
    if (left < 2) captions.splice(k, 1); else captions[k] = [other, fit(before, left)];
  }
  captions.push([{ x, y, class: name }, fit(text, room)]);
}

function paintBands(scene) {
  bands.forEach((b) => {
    const y = b.lane === '' ? view.cuts + 17 * b.level : view.y.get(b.lane);
    if (y === undefined || b.level > 5 || !inView(scene, b.i, b.j)) return;
    const place = bar(scene, xOf(b.i), xOf(b.j), b.lane === '' ? y : y - 16, b.lane === '' ? 15 : 32, 'band');
    caption(place, b.lane === '' ? y + 12 : y - 4, visible(b.word), '');
  });
}

// steps are between which the ticks of a clock may lie, in nanoseconds.
const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 3e4, 6e4, 3e5, 6e5, 3.6e6].map((ms) => ms * millisecond);

function paintLanes(scene) {
  const t0 = events[scene.first]?.t || 0, t1 = events[scene.last]?.t || 0;
  const step = steps.find((s) => (t1 - t0) / s <= 24) || steps[steps.length - 1];
  for (const [name, y] of view.y) {
    line('lane', gutter, y, scene.right, y);
    if (name === 'resource') continue;
    const from = localTime(name, t0), to = localTime(name, t1);
    let count = 0;
    for (let local = Math.ceil(from / step) * step; local <= to && count < 200; local += step, count++) {
      const at = trueTime(name, local, t0);
      if (at > t1) break;
      const x = screen(placeOfTime(at));
      if (x >= gutter && at > t0) line('tick', x, y - 3, x, y + 3);
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
      const place = bar(scene, xOf(b.i), xOf(b.j), row.y, 14, 'belief');
      caption(place, row.y + 11, b.client + ' holds' + (b.token ? ' · token ' + b.token : ''), 'onbelief');
      if (b.lease) paintLease(scene, b, row.y + 17);
    }
    if (row.states) paintStates(scene, row);
  }
}

function paintLease(scene, b, y) {
  const until = screen(placeOfTime(trueTime(b.client, localTime(b.client, events[b.i].t) + b.lease, events[b.i].t)));
  const x1 = Math.max(gutter, xOf(b.i)), x2 = Math.min(scene.right, until, xOf(b.j));
  if (x2 > x1) line('lease', x1, y, x2, y);
}

// paintStates draws what a server has in a key: each state until the next, its TTL,
// or the end of the view.
function paintStates(scene, row) {
  for (let k = Math.max(0, latest(row.states, scene.first)); k < row.states.length; k++) {
    const state = row.states[k], following = row.states[k + 1];
    if (places[state.i] > scene.to + 200) return;
    if (state.text === '') continue;
    let x = screen(places[total]);
    if (state.until < Infinity) x = Math.min(x, screen(placeOfTime(trueTime(row.name, state.until, events[state.i].t))));
    if (following) x = Math.min(x, xOf(following.i));
    const place = bar(scene, xOf(state.i), x, row.y, 15, 'truth');
    const text = state.text.replace(/^(hash|string)\{(.*)\}$/, '$2');
    const whose = state.by && !text.includes(state.by) ? state.by + ': ' : '';
    caption(place, row.y + 12, visible(whose + text), 'ontruth');
  }
}

// paintDowns veils what a server has while it is down.
function paintDowns(scene) {
  for (const b of bands.filter((one) => one.word === 'down' && inView(scene, one.i, one.j))) {
    for (const row of strips.filter((one) => one.states && one.name === b.lane)) {
      caption(bar(scene, xOf(b.i), xOf(b.j), row.y - 1, 17, 'veil'), row.y + 12, row.name + ' is down', '');
    }
  }
}

function paintOverlaps(scene) {
  const height = strips.filter((row) => row.beliefs).length * rowHeight;
  for (const o of view.overlaps) {
    if (!inView(scene, o.i, o.j)) continue;
    const place = bar(scene, xOf(o.i), xOf(o.j), top0 - 3, height + 1, 'overlap');
    if (place) captions.push([{ x: place.from + 3, y: top0 - 6, class: 'sign bad' }, `✘ ${o.clients.size} believe`]);
  }
}

// paintMessages draws every one, or of very many each n-th and those that met with something.
function paintMessages(scene) {
  const seen = [];
  for (let k = firstUnderWay(scene.first); k < messages.length && messages[k].i <= scene.last; k++) {
    const m = messages[k];
    if (!view.gossip && between(m.from, m.to)) continue;
    if (view.y.has(m.from) && view.y.has(m.to) && Math.max(m.i, m.j) >= scene.first) seen.push(m);
  }
  view.thinned = Math.max(1, Math.ceil(seen.length / many));
  const signed = { x: -Infinity };
  seen.forEach((m, k) => {
    if (k % view.thinned === 0 || m.lost || m.late || m.twice) paintMessage(m, signed);
  });
}

function paintMessage(m, signed) {
  const y1 = view.y.get(m.from), y2 = view.y.get(m.to), x1 = xOf(m.i);
  if (m.lost || m.j < 0) {
    const x2 = x1 + 14, y = y1 + (y2 - y1) * 0.45;
    line('message ' + (m.lost ? 'lost' : 'nowhere'), x1, y1, x2, y);
    if (m.lost) cross('failed', x2, y);
    return;
  }
  const x2 = xOf(m.j), middle = (x1 + x2) / 2;
  arrow('message' + (m.late ? ' late' : m.twice ? ' twice' : ''), x1, y1, x2, y2);
  const sign = [m.twice ? '2×' : '', m.late ? 'late' : ''].filter(Boolean).join(' ');
  if (!sign || middle < signed.x + 30) return; // there is no room for the word
  signed.x = middle;
  captions.push([{ x: middle, y: (y1 + y2) / 2, class: 'sign warn' }, sign]);
}

// paintEvents puts a dot where an actor did or believed something, and words at faults.
function paintEvents(scene) {
  const seen = [];
  for (let k = scene.first; k <= scene.last; k++) {
    const kind = events[k].kind;
    if (kind !== 'send' && kind !== 'deliver' && view.y.has(events[k].actor)) seen.push(k);
  }
  const every = Math.ceil(seen.length / many);
  seen.forEach((k, n) => {
    const e = events[k], x = xOf(k), y = view.y.get(e.actor);
    if (n % every > 0 && !beliefKinds.has(e.kind)) return;
    if (e.kind === 'reject') cross('failed', x, y);
    else dot('dot' + (beliefKinds.has(e.kind) ? ' belief' : e.kind === 'write' ? ' write' : ''), x, y);
  });
  for (const m of marks) {
    const y = view.y.get(m.lane);
    if (y === undefined || xOf(m.i) < gutter - 2 || !inView(scene, m.i, m.i)) continue;
    captions.push([{ x: xOf(m.i) + 2, y: y + 14, class: 'sign warn' }, '⚡' + m.word]);
  }
}

function paintAxis(scene) {
  let next = gutter + 4;
  const axis = view.height - 6;
  for (let k = scene.first; k <= scene.last; k++) {
    const x = xOf(k);
    if (x >= next && x < scene.right - 50) {
      captions.push([{ x, y: axis, class: 'soft' }, seconds(events[k].t) + ' s']);
      next = x + 84;
    }
    const gap = k > 0 ? events[k].t - events[k - 1].t : 0;
    if (!view.truly && gap > 200 * millisecond && places[k] - places[k - 1] > 30 / view.zoom) {
      const middle = (x + xOf(k - 1)) / 2;
      if (middle > gutter) captions.push([{ x: middle - 4, y: axis - 14, class: 'soft' }, '≈']);
    }
  }
}

function paintCursor() {
  const e = events[view.cursor], x = xOf(view.cursor);
  if (!e || x < gutter - 1) return;
  draw(overlay, 'line', { x1: x, x2: x, y1: 14, y2: view.height - 18, class: 'now' });
  const y = view.y.get(e.actor) ?? view.y.get(e.peer);
  if (y !== undefined) draw(overlay, 'circle', { cx: x, cy: y, r: 8, class: 'at' });
}

// aside is how far a clock is off, short enough for the gutter.
const aside = (off) => (off < 0 ? '−' : '+') + (Math.abs(off) / second).toFixed(Math.abs(off) < 100 * second ? 2 : 0) + ' s';

// paintLabels writes the names of the rows, over whatever scrolled below them.
function paintLabels() {
  draw(overlay, 'rect', { x: 0, y: 0, width: gutter - 2, height: view.height, class: 'label' });
  for (const row of strips) {
    draw(overlay, 'text', { x: 4, y: row.y + 12 }, row.name + ' ' + visible(row.about).slice(0, 9));
  }
  const t = events[view.cursor]?.t || 0;
  for (const [name, y] of view.y) {
    draw(overlay, 'text', { x: 4, y: y + 4, class: 'head' }, visible(name).slice(0, 10));
    const off = localTime(name, t) - t;
    if (Math.abs(off) >= millisecond) {
      draw(overlay, 'text', { x: 4, y: y + 18, class: 'sign warn' }, aside(off));
    }
  }
}

let painting = false;

// repaint has the page shown as it is by now, once, before the next frame.
function repaint() {
  if (painting) return;
  painting = true;
  requestAnimationFrame(() => {
    painting = false;
    show();
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

// zoomTo keeps the cursor in the middle.
function zoomTo(zoom) {
  const room = total > mostEvents ? view.width : view.width - gutter - 10;
  view.zoom = Math.min(Math.max(zoom, room / view.span), 40, widest / places[total]);
  layout();
  slideTo(places[view.cursor] * view.zoom - (view.width - gutter) / 2);
  repaint();
}

const fit = () => zoomTo(0);
