// The panels: the event at the cursor, the keys of every server, the list.

function put(parent, name, text, className) {
  const node = document.createElement(name);
  if (text !== undefined) node.textContent = text;
  if (className) node.className = className;
  parent.append(node);
  return node;
}

function showEvent(k) {
  const e = events[k], line = element('event');
  line.replaceChildren();
  put(line, 'span', seconds(e.t) + ' s', 'time');
  line.append(` #${e.n} ${sentence(e)}`);
  if (e.cause) line.append(` (after #${e.cause})`);
  const did = element('did');
  did.replaceChildren();
  const runs = scriptsOf(e);
  for (const run of runs) showScript(did, run);
  if (runs.length > 0) return;
  const calls = (e.details || []).filter((d) => d.what === 'call');
  const sent = (e.details || []).filter((d) => d.what === 'published');
  if (calls.length + sent.length === 0) {
    put(did, 'p', isServer(e.actor) ? 'No command ran at this event.' : 'Not an event of a server.', 'reply');
    return;
  }
  const list = put(did, 'ol', undefined, 'calls');
  for (const d of calls) {
    const item = put(list, 'li');
    put(item, 'span', visible(shorter(d.text || '')), 'code');
    put(item, 'div', '→ ' + visible(shorter(d.reply || '')), 'reply code');
  }
  for (const d of sent) put(list, 'li', `published on ${visible(d.key || '')}: ${visible(d.text || '')}`);
}

const shorter = (text) => (text.length <= 400 ? text : text.slice(0, 400) + '…');

// mostKeys is how many keys of a server are shown at once.
const mostKeys = 40;

// showKeys shows the keys at event k, and how they differ from the event before.
// Where there are too many, those that changed come first, and those of the lock.
function showKeys(k) {
  const box = element('keys');
  box.replaceChildren();
  for (const node of actors.filter((name) => history.has(name))) {
    const there = [...history.get(node)].map(([key, states]) => difference(key, states, k)).filter(Boolean);
    if (there.length === 0) continue;
    const table = put(box, 'table', undefined, 'keys');
    put(table, 'caption', visible(node) + (isDown(node, k) ? ' (down)' : ''));
    const body = put(table, 'tbody');
    for (const one of choose(there)) row(body, node, one, k);
    const more = there.length - mostKeys;
    if (more > 0) put(put(body, 'tr'), 'td', `and ${more} more keys`, 'reply').colSpan = 2;
  }
  if (box.children.length === 0) put(box, 'p', 'No server has a key yet.', 'reply');
}

// difference is a key at event k, or null where it was neither there nor has gone.
function difference(key, states, k) {
  const now = stateAt(states, k), before = k > 0 ? stateAt(states, k - 1) : null;
  const is = now?.text, was = before?.text;
  if (!is && !was) return null;
  return { key, now, is, was, change: !was ? 'new' : !is ? 'gone' : now !== before ? 'changed' : '' };
}

function choose(there) {
  if (there.length <= mostKeys) return there;
  const lock = locks.get(view.lock), rank = (one) => (one.change ? 2 : lock && one.key.includes(lock) ? 1 : 0);
  const first = new Set([...there].sort((a, b) => rank(b) - rank(a)).slice(0, mostKeys));
  return there.filter((one) => first.has(one));
}

const isDown = (node, k) => bands.some((b) => b.lane === node && b.word === 'down' && b.i <= k && k < b.j);

function row(body, node, { key, now, is, was, change }, k) {
  const line = put(body, 'tr', undefined, change);
  put(line, 'td', visible(key), 'code');
  const cell = put(line, 'td', undefined, 'code');
  if (change) cell.append({ new: 'new: ', gone: '', changed: 'now: ' }[change]);
  if (was && was !== is) {
    put(cell, 's', visible(shorter(was)));
    cell.append(' ');
  }
  cell.append(is ? visible(shorter(is)) : 'gone');
  if (is && now.until < Infinity) {
    const left = now.until - localTime(node, events[k].t);
    put(cell, 'span', left > 0 ? ` ttl ${seconds(left)} s` : ' its TTL has passed', 'reply');
  }
}

// The list is a window on the events that are chosen.
const windowSize = 100;
const listing = { all: false, find: '', chosen: [], from: 0 };

function chooseEvents() {
  const find = listing.find.toLowerCase();
  listing.chosen = [];
  for (let k = 0; k < total; k++) {
    if (!listing.all && !isStory(events[k])) continue;
    if (find && !sentence(events[k]).toLowerCase().includes(find)) continue;
    listing.chosen.push(k);
  }
  element('found').textContent = find ? `${listing.chosen.length} found` : '';
}

// positionOf is the place in the list of event k, or of the last chosen one before it.
function positionOf(k) {
  let low = 0, high = listing.chosen.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (listing.chosen[middle] <= k) low = middle + 1; else high = middle;
  }
  return Math.max(0, low - 1);
}

function fillList() {
  const list = element('list'), part = listing.chosen.slice(listing.from, listing.from + windowSize);
  list.replaceChildren();
  list.setAttribute('start', String(listing.from + 1));
  for (const k of part) {
    const e = events[k], item = put(list, 'li', undefined, faults.has(e.kind) ? 'fault' : beliefKinds.has(e.kind) ? 'belief' : '');
    const button = put(item, 'button');
    button.type = 'button';
    button.dataset.event = e.n;
    put(button, 'span', seconds(e.t) + ' s', 'time');
    button.append(` #${e.n} ${faults.has(e.kind) ? '⚡ ' : ''}${shorter(sentence(e))}`);
  }
  const size = listing.chosen.length;
  element('span').textContent = size === 0 ? 'nothing' : `${listing.from + 1} to ${listing.from + part.length} of ${size}`;
  element('earlier').disabled = listing.from === 0;
  element('later').disabled = listing.from + windowSize >= size;
}

// followCursor brings the list to event k and marks it there and in the why.
function followCursor(k) {
  const at = positionOf(k);
  if (element('list').children.length === 0 || at < listing.from || at >= listing.from + windowSize) {
    listing.from = Math.max(0, at - windowSize / 2);
    fillList();
  }
  markCurrent();
}

function markCurrent() {
  const list = element('list'), current = list.children[positionOf(view.cursor) - listing.from]?.firstElementChild;
  if (current) keepInSight(current);
  for (const button of document.querySelectorAll('[aria-current]')) button.removeAttribute('aria-current');
  for (const button of document.querySelectorAll(`.why [data-event="${events[view.cursor].n}"]`)) {
    button.setAttribute('aria-current', 'true');
  }
  current?.setAttribute('aria-current', 'true');
}

// keepInSight scrolls the list, and never the page.
function keepInSight(button) {
  const list = element('list'), y = button.offsetTop - list.offsetTop;
  if (y < list.scrollTop || y + button.offsetHeight > list.scrollTop + list.clientHeight) {
    list.scrollTop = y - list.clientHeight / 2;
  }
}
