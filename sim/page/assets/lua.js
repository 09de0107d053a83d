// Scripts: which lines of each ran, what they called, and which one decided.

// sources are the lines of the scripts that the trace tells, by SHA1.
const sources = new Map();
for (const e of events) {
  for (const d of e.details || []) {
    if (d.what === 'script' && d.text) sources.set(d.key, d.text.replace(/\n$/, '').split('\n'));
  }
}

// mostSteps is how many steps of a script are shown.
const mostSteps = 100;
let wholeOpen = false; // the reader wants whole scripts

// scriptsOf are the scripts that ran at an event, each with its steps: the line,
// the local variables before it, and what it called and published.
function scriptsOf(e) {
  const runs = [];
  let run = null, step = null;
  for (const d of e.details || []) {
    if (d.what === 'script') {
      runs.push(run = { lines: sources.get(d.key) || [], steps: [], decided: e.decided });
      step = null;
    } else if (run && d.what === 'line') {
      run.steps.push(step = { line: d.line, locals: d.text || '', did: [] });
    } else if (step && d.what === 'call' && /^(evalsha|eval)(_ro)? /i.test(d.text || '')) {
      run.reply = d.reply;
      step = null;
    } else if (step && d.what === 'call') {
      step.did.push([d.text || '', '→ ' + (d.reply || '')]);
    } else if (step && d.what === 'published') {
      step.did.push([`published on ${d.key || ''}`, d.text || '']);
    }
  }
  runs.slice(0, -1).forEach((one) => { one.decided = 0; }); // the trace names the last one's line
  return runs;
}

function showScript(parent, run) {
  const deciding = run.steps.findLastIndex((step) => step.line === run.decided);
  const list = put(parent, 'ol', undefined, 'lua');
  run.steps.slice(0, mostSteps).forEach((step, k) => {
    const item = put(list, 'li', undefined, k === deciding ? 'decides' : '');
    put(item, 'span', String(step.line), 'number');
    put(item, 'span', visible((run.lines[step.line - 1] ?? '').trim()), 'code');
    if (k === deciding) put(item, 'span', ' ◆ decides', 'word');
    if (step.locals) put(item, 'div', visible(shorter(step.locals)), 'reply code indent');
    for (const [what, reply] of step.did) {
      const call = put(item, 'div', undefined, 'indent');
      put(call, 'span', visible(shorter(what)) + ' ', 'code');
      put(call, 'span', visible(shorter(reply)), 'reply code');
    }
  });
  if (run.steps.length > mostSteps) put(parent, 'p', `and ${run.steps.length - mostSteps} more steps`, 'reply');
  if (run.reply !== undefined) put(parent, 'p', 'The script replies ' + visible(shorter(run.reply)));
  showWhole(parent, run);
}

// showWhole shows all lines, with a sign at those that ran.
function showWhole(parent, run) {
  const box = put(parent, 'details'), ran = new Set(run.steps.map((step) => step.line));
  put(box, 'summary', 'The whole script');
  box.open = wholeOpen;
  const list = put(box, 'ol', undefined, 'lua');
  const fill = () => {
    if (!box.open || list.children.length > 0) return;
    run.lines.forEach((text, k) => {
      const is = k + 1 === run.decided ? 'decides' : ran.has(k + 1) ? '' : 'skipped', item = put(list, 'li', undefined, is);
      put(item, 'span', String(k + 1), 'number');
      put(item, 'span', (ran.has(k + 1) ? '▸ ' : '  ') + visible(text), 'code');
      if (is === 'decides') put(item, 'span', ' ◆ decides', 'word');
    });
  };
  box.addEventListener('toggle', () => {
    wholeOpen = box.open;
    fill();
  });
  fill();
}
