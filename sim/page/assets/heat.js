'use strict';
// The heat map: arrow keys go from cell to cell, and the cell in focus or under the
// mouse is told in words.

const about = document.getElementById('about');

function tell(cell) {
  const kind = cell.closest('td').dataset.kind, row = cell.closest('tr').querySelector('th').textContent;
  about.textContent = `${row} ${kind}: ${cell.textContent.trim()}\n${cell.dataset.about}`;
}

// next is the cell in a direction that can be gone to, or null.
function next(cell, down, right) {
  const place = cell.closest('td'), rows = [...place.closest('tbody').rows];
  let row = rows.indexOf(place.parentElement) + down, column = place.cellIndex + right;
  for (; rows[row]?.cells[column]; row += down, column += right) {
    const found = rows[row].cells[column].querySelector('.cell');
    if (found) return found;
  }
  return null;
}

const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

for (const table of document.querySelectorAll('.heat')) {
  // One stop of the Tab key for each table: its first cell, then the one gone to last.
  const cells = [...table.querySelectorAll('.cell')];
  cells.forEach((cell, k) => { cell.tabIndex = k === 0 ? 0 : -1; });
  table.addEventListener('focusin', (e) => {
    const cell = e.target.closest('.cell');
    if (!cell) return;
    for (const other of table.querySelectorAll('.cell[tabindex="0"]')) other.tabIndex = -1;
    cell.tabIndex = 0;
    tell(cell);
  });
  table.addEventListener('mouseover', (e) => {
    const cell = e.target.closest('.cell');
    if (cell) tell(cell);
  });
  table.addEventListener('keydown', (e) => {
    const move = moves[e.key], cell = e.target.closest('.cell');
    if (!move || !cell || e.ctrlKey || e.altKey || e.metaKey || e.shiftKey) return;
    e.preventDefault();
    next(cell, ...move)?.focus();
  });
}
