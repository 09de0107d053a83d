// The cursor: where it is, and all that moves it.

let playing = 0;
let shown = -1; // the event that the page shows
let follow = true; // the diagram goes where the cursor goes

// go puts the cursor at event k, counted from 0. The page shows it with the next frame.
function go(k, along = true) {
  if (total === 0) return;
  view.cursor = Math.min(Math.max(Math.floor(k), 0), total - 1);
  follow = along;
  repaint();
}

// show brings the page up to date. What has to be measured comes first, while
// nothing has changed yet.
function show() {
  const k = view.cursor, e = events[k];
  if (e && k !== shown) {
    if (follow) bringIntoView();
    followCursor(k);
    showCursor(e);
    showEvent(k);
    showKeys(k);
    offerBranches(e);
    announce(Math.max(0, shown));
    shown = k;
    tellAddress(e);
  }
  paint();
  notes();
}

function showCursor(e) {
  element('scrubber').value = String(e.n);
  element('scrubber').setAttribute('aria-valuetext', `${seconds(e.t)} seconds, event ${e.n}: ${sentence(e).slice(0, 120)}`);
  if (document.activeElement !== element('number')) element('number').value = String(e.n);
  if (document.activeElement !== element('second')) element('second').value = seconds(e.t);
  element('to-cause').disabled = !e.cause;
  element('to-effect').disabled = !effects.has(view.cursor);
}

let telling = 0;

// tellAddress puts the event into the page's address once the cursor rests:
// browsers do not let a page do so at every frame.
function tellAddress(e) {
  clearTimeout(telling);
  telling = setTimeout(() => {
    // A page that is not from a server of its own may not be allowed to.
    try { window.history.replaceState(null, '', '#event=' + e.n); } catch { /* the address stays as it is */ }
  }, 300);
}

function bringIntoView() {
  const x = places[view.cursor] * view.zoom, width = view.width - gutter;
  if (x < view.left + 20 || x > view.left + width - 40) slideTo(x - width / 2);
}

const holdersAt = (k) => new Set(beliefs.filter((b) => b.lock === view.lock && b.i <= k && k < b.j).map((b) => b.client));

// announce tells who holds when that has changed, else what happened.
function announce(before) {
  const was = [...holdersAt(before)].join(' and '), is = [...holdersAt(view.cursor)].join(' and ');
  const text = sentence(events[view.cursor]).slice(0, 200);
  element('announce').textContent = was === is ? text : `${text}. ${is ? 'Holders, as they believe: ' + is : 'Nobody believes that it holds the lock'}.`;
}

function stepStory(by) {
  for (let k = view.cursor + by; k >= 0 && k < total; k += by) {
    if (isStory(events[k])) return go(k);
  }
}

function pause() {
  clearInterval(playing);
  playing = 0;
  element('play').textContent = 'Play';
  element('play').setAttribute('aria-pressed', 'false');
}

// play goes on from event to event of the story, and stops where an overlap begins.
function play() {
  if (playing) return pause();
  if (view.cursor === total - 1) go(0);
  element('play').textContent = 'Pause';
  element('play').setAttribute('aria-pressed', 'true');
  playing = setInterval(() => {
    const before = view.cursor;
    stepStory(1);
    if (view.cursor === before || view.overlaps.some((o) => o.i === view.cursor)) pause();
  }, 500);
}

const toCause = () => events[view.cursor].cause && go(events[view.cursor].cause - 1);
const toEffect = () => effects.has(view.cursor) && go(effects.get(view.cursor));

// offerBranches shows what can be changed at this event, on a served page.
function offerBranches(e) {
  const form = element('branch-form'), box = element('branch');
  if (!form) return;
  box.replaceChildren();
  put(box, 'span', 'Branch here:');
  const offer = (what, text) => {
    const button = put(box, 'button', text);
    button.type = 'button';
    button.addEventListener('click', () => {
      form.elements.what.value = what;
      form.elements.event.value = e.n;
      form.submit();
    });
  };
  if (e.kind === 'send' && e.peer !== 'resource') offer('drop', 'lose this message');
  for (const name of [e.actor, e.peer].filter(Boolean)) {
    if (isClient(name)) offer('pause ' + name, `pause ${name} for 5 s`);
    if (isServer(name) && !isDown(name, view.cursor)) offer('crash ' + name, `crash ${name}`);
  }
  box.hidden = box.children.length < 2;
}

const keys = {
  ArrowLeft: (e) => (e.shiftKey ? stepStory(-1) : go(view.cursor - 1)),
  ArrowRight: (e) => (e.shiftKey ? stepStory(1) : go(view.cursor + 1)),
  '[': toCause, ']': toEffect, Home: () => go(0), End: () => go(total - 1), ' ': play,
  b: () => element('branch').querySelector('button')?.focus(),
};

document.addEventListener('keydown', (e) => {
  if (e.ctrlKey || e.altKey || e.metaKey || !keys[e.key] || !element('letters').checked) return;
  const at = e.target.closest('input, select, textarea, button, summary, a');
  if (at && (at.matches('input:not([type=checkbox]), select, textarea') || e.key === ' ')) return;
  e.preventDefault();
  keys[e.key](e);
});

document.addEventListener('click', (e) => {
  const n = e.target.closest('[data-event]')?.dataset.event;
  if (n) go(n - 1);
});

picture.addEventListener('click', (e) => {
  const place = (e.clientX - picture.getBoundingClientRect().left - gutter + view.left) / view.zoom;
  const k = search(place), near = k + 1 < total && places[k + 1] - place < place - places[k] ? k + 1 : k;
  if (place >= 0) go(near, false);
});

const on = (id, what, f) => element(id).addEventListener(what, f);
on('first', 'click', () => go(0));
on('back', 'click', () => go(view.cursor - 1));
on('play', 'click', play);
on('next', 'click', () => go(view.cursor + 1));
on('last', 'click', () => go(total - 1));
on('to-cause', 'click', toCause);
on('to-effect', 'click', toEffect);
on('scrubber', 'input', (e) => go(e.target.value - 1));
on('number', 'change', (e) => {
  go(e.target.value - 1);
  e.target.value = String(view.cursor + 1);
});
on('second', 'change', (e) => go(Math.max(0, indexAt(e.target.value * second + millisecond / 2))));
on('zoom-in', 'click', () => zoomTo(view.zoom * 1.6));
on('zoom-out', 'click', () => zoomTo(view.zoom / 1.6));
on('zoom-fit', 'click', fit);
on('true-time', 'change', (e) => { view.truly = e.target.checked; rearrange(); fit(); });
on('gossip', 'change', (e) => { view.gossip = e.target.checked; rearrange(); zoomTo(view.zoom); });
on('lanes', 'change', rearrange);
on('lock', 'change', (e) => { view.lock = Number(e.target.value); rearrange(); });
on('messages', 'change', (e) => { listing.all = e.target.checked; relist(); });
on('find', 'input', (e) => { listing.find = e.target.value; relist(); });
on('earlier', 'click', () => turn(-windowSize));
on('later', 'click', () => turn(windowSize));
frame.addEventListener('scroll', () => {
  if (Math.abs(frame.scrollLeft - view.left) < 1) return;
  view.left = frame.scrollLeft;
  view.stale = true;
  repaint();
});
new ResizeObserver(() => {
  if (frame.clientWidth === view.width) return;
  layout();
  slideTo(view.left);
  repaint();
}).observe(frame);
window.addEventListener('hashchange', () => go(eventInAddress() - 1));

function relist() {
  chooseEvents();
  listing.from = Math.max(0, positionOf(view.cursor) - windowSize / 2);
  fillList();
  markCurrent();
}

function turn(by) {
  listing.from = Math.min(Math.max(0, listing.from + by), Math.max(0, listing.chosen.length - 1));
  fillList();
  element('list').scrollTop = 0;
}

// eventInAddress is the event that the address names, or where the story begins.
const eventInAddress = () => Number(/^#event=(\d+)$/.exec(location.hash)?.[1] || 1 + Math.max(0, events.findIndex(isStory)));

// notes says what is not shown.
function notes() {
  const list = [];
  if (total > mostEvents) {
    list.push(`This run has ${total} events: the diagram shows at most ${mostEvents} of them at once, around the cursor, `
      + `and the list ${windowSize}.`);
  }
  if (view.thinned > 1) list.push(`Of the messages in view one in ${view.thinned} is drawn, besides all that were lost, late or sent twice; zoom in to see every one.`);
  if (!view.gossip) list.push(`${gossip} messages between servers are not drawn.`);
  const hidden = actors.length - view.lanes.length;
  if (hidden > 0) list.push(`${hidden} lanes are not shown; name those that you want in the field Lanes.`);
  const text = list.join(' ');
  if (element('notice').textContent === text) return;
  element('notice').textContent = text;
  element('notice').hidden = list.length === 0;
}

// open builds the page.
function open() {
  element('scrubber').max = element('number').max = String(total);
  const violated = [...locks.keys()].find((lock) => overlapsOf(lock).length > 0);
  view.lock = violated ?? [...locks.keys()][0] ?? 0;
  if (locks.size > 1) {
    for (const [lock, name] of locks) {
      const option = put(element('lock'), 'option', visible(name));
      option.value = lock;
      option.selected = lock === view.lock;
    }
    element('lock-choice').hidden = false;
  }
  element('gossip-choice').hidden = gossip === 0;
  element('gossip').checked = view.gossip;
  rearrange();
  const whole = (view.width - gutter - 10) / places[total];
  zoomTo(Math.min(1.5, Math.max(whole, 0.5)));
  chooseEvents();
  go(eventInAddress() - 1);
}

open();
