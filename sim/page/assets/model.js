'use strict';
// What the trace says. Everything here is worked out once, from the events alone.

const element = (id) => document.getElementById(id);
const events = JSON.parse(element('trace').textContent);
const total = events.length;
const end = total > 0 ? events[total - 1].t : 0;
const millisecond = 1e6; // times are in nanoseconds
const second = 1e9;

// visible shows what would otherwise act on a page or hide in it: control
// characters, and those that turn the direction of writing.
function visible(text) {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]/g, (c) => {
    const code = c.codePointAt(0);
    return code < 0x20 ? String.fromCodePoint(0x2400 + code) : '⟨' + code.toString(16).padStart(4, '0') + '⟩';
  });
}

// seconds is a time as the story shows it: with three decimals, rounded down.
const seconds = (ns) => (Math.floor(ns / millisecond) / 1000).toFixed(3);

// sentence is an event in words.
function sentence(e) {
  if (e.says) return visible(e.says);
  const what = e.text ? ': ' + visible(e.text) : '';
  switch (e.kind) {
    case 'send': return `${visible(e.actor)} sends to ${visible(e.peer)}${what}`;
    case 'deliver': return `${visible(e.actor)} receives from ${visible(e.peer)}${what}`;
    case 'wake': return `a timer of ${visible(e.actor)} fires`;
    case 'start': return `${visible(e.actor)} starts`;
    case 'end': return `${visible(e.actor)} ends`;
  }
  return `${visible(e.actor)}: ${e.kind}${what}`;
}

const isStory = (e) => e.says !== undefined;
const isClient = (name) => /^c\d+$/.test(name);
const isServer = (name) => /^[mrs]\d+$/.test(name);
const faults = new Set(['drop', 'delay', 'duplicate', 'crash', 'restart', 'pause', 'resume', 'partition', 'heal', 'jump', 'rate', 'lag',
  'promote', 'command', 'slow', 'evict']);
const beliefKinds = new Set(['hold', 'release', 'lost']);
const arrivals = new Set(['deliver', 'execute', 'replicate', 'write', 'reject']);

// actors are the lanes: clients, servers, the resource.
const actors = (() => {
  const names = new Set();
  for (const e of events) {
    names.add(e.actor);
    if (e.peer) names.add(e.peer);
  }
  names.delete('nemesis');
  names.delete('');
  const floor = (name) => {
    const at = 'cmrs'.indexOf(name[0]);
    return name === 'resource' ? 9 : /^.\d+$/.test(name) && at >= 0 ? at : 8;
  };
  return [...names].sort((a, b) => floor(a) - floor(b) || a.length - b.length || (a < b ? -1 : 1));
})();

// messages, with the indices of the events at which each left (i) and arrived (j, or -1).
const messages = [];
// effects are, for the index of an event, the index of the first that followed from it.
const effects = new Map();
{
  const open = new Map();
  events.forEach((e, k) => {
    if (e.cause && e.kind !== 'delay' && !effects.has(e.cause - 1)) effects.set(e.cause - 1, k);
    const of = open.get(e.cause);
    if (e.kind === 'send' || e.kind === 'duplicate') {
      const m = { from: e.actor, to: e.peer, i: k, j: -1, lost: false, late: false, twice: e.kind === 'duplicate' };
      messages.push(m);
      open.set(e.n, m);
    } else if (of && e.kind === 'drop') {
      of.lost = !e.b;
      of.stuck = !!e.b;
    } else if (of && of.j < 0 && arrivals.has(e.kind) && e.actor === of.to) {
      of.j = k;
    }
  });
  const delays = messages.filter((m) => m.j >= 0).map((m) => events[m.j].t - events[m.i].t).sort((a, b) => a - b);
  const usual = delays.length > 0 ? delays[delays.length >> 1] : 0;
  const limit = Math.max(4 * usual, usual + 20 * millisecond);
  for (const m of messages) m.lost = m.lost || !!m.stuck && m.j < 0;
  for (const m of messages) m.late = m.j >= 0 && events[m.j].t - events[m.i].t > limit;
}

// between tells whether an event or a message is of servers only: their gossip,
// replication, elections.
const between = (from, to) => isServer(from) && isServer(to || '');
const gossip = messages.filter((m) => between(m.from, m.to)).length;

// firstUnderWay is the place in messages of the first that may be under way at or
// after event k. Before it all have arrived.
const arrived = []; // of each message: by when it and all before it have arrived
for (const m of messages) arrived.push(Math.max(arrived[arrived.length - 1] ?? -1, m.i, m.j));

function firstUnderWay(k) {
  let low = 0, high = arrived.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (arrived[middle] < k) low = middle + 1; else high = middle;
  }
  return low;
}

// clocks have, for an actor, since when its clock is where and how fast it runs.
const clocks = new Map(actors.map((name) => [name, [{ t: 0, local: 0, rate: 1 }]]));

function localTime(name, t) {
  const list = clocks.get(name) || [{ t: 0, local: 0, rate: 1 }];
  let k = list.length - 1;
  while (k > 0 && list[k].t > t) k--;
  return list[k].local + (t - list[k].t) * list[k].rate;
}

// trueTime is when the actor's clock first shows a time, at or after the true time `from`.
function trueTime(name, local, from) {
  const list = clocks.get(name) || [{ t: 0, local: 0, rate: 1 }];
  for (let k = 0; k < list.length; k++) {
    const until = k + 1 < list.length ? list[k + 1].t : Infinity;
    if (until <= from) continue;
    const start = Math.max(from, list[k].t);
    const at = list[k].t + (local - list[k].local) / list[k].rate;
    if (at <= start) return start;
    if (at < until) return at;
  }
  return Infinity;
}

for (const e of events) {
  if (e.kind !== 'jump' && e.kind !== 'rate' || !clocks.has(e.peer)) continue;
  const list = clocks.get(e.peer), now = list[list.length - 1];
  const local = now.local + (e.t - now.t) * now.rate;
  list.push(e.kind === 'jump' ? { t: e.t, local: local + (e.a || 0), rate: now.rate }
    : { t: e.t, local, rate: 1 + (e.a || 0) / 1e9 });
}

// shared tells whether a grant is one of many that may stand side by side: of a
// reader, or a permit.
function shared(e) {
  for (let n = e.cause, far = 0; n && far < 64; n = events[n - 1].cause, far++) {
    const from = events[n - 1];
    if (from.kind === 'execute' && /^[a-z]+-acquire/.test(from.text || '')) return /^(read|semaphore|permit)-/.test(from.text);
    if (from.kind === 'acquire') break;
  }
  return false;
}

// beliefs: a client believes that it holds a lock from event i to event j, which is
// total where that has not ended.
const beliefs = [];
const locks = new Map(); // number -> name
{
  const open = new Map();
  const close = (b, k, lost) => Object.assign(b, { j: k, lost });
  events.forEach((e, k) => {
    const id = e.actor + ' ' + e.lock;
    if (e.lock && e.key && !locks.has(e.lock)) locks.set(e.lock, e.key);
    if (e.kind === 'hold') {
      const b = { client: e.actor, lock: e.lock || 0, i: k, j: total, token: e.a || 0, lease: e.b || 0,
        shared: shared(e), inner: e.peer === e.actor };
      beliefs.push(b);
      if (!open.has(id)) open.set(id, []);
      open.get(id).push(b);
    } else if ((e.kind === 'release' || e.kind === 'lost') && open.get(id)?.length) {
      // what a writer reads inside says so by its peer, and may end after what is around it
      const list = open.get(id), at = list.findLastIndex((b) => b.inner === (e.peer === e.actor));
      if (at >= 0) close(list.splice(at, 1)[0], k, e.kind === 'lost');
    } else if (e.kind === 'crash' && isClient(e.peer || '')) {
      for (const [key, list] of open) {
        if (key.startsWith(e.peer + ' ')) list.splice(0).forEach((b) => close(b, k, true));
      }
    }
  });
}

// overlaps of a lock: from event i to event j more clients believe than may.
function overlapsOf(lock) {
  const edges = [];
  for (const b of beliefs) {
    if (b.lock === lock) edges.push({ at: b.i, b, on: true }, { at: b.j, b, on: false });
  }
  edges.sort((a, b) => a.at - b.at || a.on - b.on);
  const live = new Set(), list = [];
  let open = null;
  for (const edge of edges) {
    if (edge.on) live.add(edge.b); else live.delete(edge.b);
    const clients = new Set([...live].map((b) => b.client));
    const bad = clients.size > 1 && [...live].some((b) => !b.shared);
    if (bad && !open) list.push(open = { i: edge.at, j: total, clients });
    if (open && clients.size > open.clients.size) open.clients = clients;
    if (!bad && open) {
      open.j = edge.at;
      open = null;
    }
  }
  return list;
}

// history has for each server and each of its keys the states in their order:
// since event i, text ("" when gone), until when by the server's clock.
const history = new Map();
{
  const keysOf = (node) => {
    if (!history.has(node)) history.set(node, new Map());
    return history.get(node);
  };
  const writers = new Map(); // who wrote a state last, however it reached another server
  const note = (node, key, k, text) => {
    const states = keysOf(node), e = events[k];
    if (!states.has(key)) states.set(key, []);
    if (text === 'none') text = '';
    const list = states.get(key), ttl = / ttl=(\d+)ms$/.exec(text);
    const until = ttl ? localTime(node, events[k].t) + ttl[1] * millisecond : Infinity;
    const bare = text.replace(/ ttl=\d+ms$/, '');
    if (e.kind === 'execute' && isClient(e.peer || '')) writers.set(key + ' ' + bare, e.peer);
    const state = { i: k, text: bare, until, by: writers.get(key + ' ' + bare) || '' };
    if (list.length > 0 && list[list.length - 1].i === k) list[list.length - 1] = state; else list.push(state);
  };
  events.forEach((e, k) => {
    const node = e.kind === 'command' || e.kind === 'evict' ? e.peer : e.actor;
    for (const d of e.details || []) {
      if (d.what === 'changed') note(node, d.key || '', k, d.text || '');
      if (d.what === 'expired') note(node, d.key || '', k, '');
    }
    if (e.kind === 'restart' && !e.a) for (const key of keysOf(e.peer).keys()) note(e.peer, key, k, '');
  });
}

// latest is the place of the latest of states at event k, or -1 before the first.
function latest(states, k) {
  let low = 0, high = states.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (states[middle].i <= k) low = middle + 1; else high = middle;
  }
  return low - 1;
}

const stateAt = (states, k) => states[latest(states, k)] ?? null;

// bands are faults that last: on a lane (or "" for all), from event i to event j, which
// is total where that has not ended.
const bands = [];
// marks are faults of an instant: on a lane, at event i.
const marks = [];
{
  const open = new Map();
  const begin = (id, lane, i, word) => {
    if (open.has(id)) return; // it goes on for longer
    const level = lane === '' ? [...open.values()].filter((b) => b.lane === '').length : 0; // among those of all lanes
    const b = { lane, i, j: total, word, level };
    bands.push(b);
    open.set(id, b);
  };
  const finish = (id, k) => {
    if (open.has(id)) open.get(id).j = k;
    open.delete(id);
  };
  events.forEach((e, k) => {
    const who = e.peer || e.actor;
    switch (e.kind) {
      case 'crash': begin('crash ' + who, who, k, 'down'); break;
      case 'restart':
        finish('crash ' + who, k);
        marks.push({ lane: who, i: k, word: e.a ? 'restarts' : 'restarts empty' });
        break;
      case 'start': finish('crash ' + who, k); break;
      case 'pause': begin('pause ' + who, who, k, 'paused'); break;
      case 'resume': finish('pause ' + e.actor, k); break;
      case 'lag': if (e.a) begin('lag ' + who, who, k, 'replication held'); else finish('lag ' + who, k); break;
      case 'slow': finish('slow ' + who, k); if (e.a) begin('slow ' + who, who, k, 'slow'); break;
      case 'partition': begin('cut ' + k, '', k, 'cut: ' + (e.text || '')); break;
      case 'heal': case 'calm': {
        const cuts = [...open.keys()].filter((id) => id.startsWith('cut '));
        const one = cuts.find((id) => e.text && open.get(id).word === 'cut: ' + e.text); // of several
        for (const id of one ? [one] : cuts) finish(id, k);
        break;
      }
      case 'jump': marks.push({ lane: who, i: k, word: (e.a < 0 ? '−' : '+') + seconds(Math.abs(e.a)) + ' s' }); break;
      case 'rate': marks.push({ lane: who, i: k, word: 'clock rate' }); break;
      case 'promote': finish('lag ' + who, k); marks.push({ lane: who, i: k, word: 'master' }); break;
      case 'evict': marks.push({ lane: who, i: k, word: 'evicts' }); break;
      case 'command': marks.push({ lane: who, i: k, word: 'by hand' }); break;
      case 'lost': if (!open.has('crash ' + e.actor)) marks.push({ lane: e.actor, i: k, word: 'lost' }); break;
    }
  });
}
