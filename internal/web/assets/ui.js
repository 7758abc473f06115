// Features that need a script: keep the theme, follow a run in progress, and
// choose a range of a timeline with the pointer. Everything else works without,
// including the same range by numbers.
'use strict';

const root = document.documentElement;
const theme = (() => {
  try { return localStorage.getItem('isobar-theme'); } catch { return null; } // storage may be forbidden
})();
if (theme === 'light' || theme === 'dark') root.dataset.theme = theme;

function keepTheme() {
  for (const name of ['auto', 'light', 'dark']) {
    const input = document.getElementById(`theme-${name}`);
    input.checked = name === (root.dataset.theme || 'auto');
    input.addEventListener('change', () => {
      if (name === 'auto') delete root.dataset.theme; else root.dataset.theme = name;
      try { localStorage.setItem('isobar-theme', name); } catch { /* the theme lasts until the page closes */ }
    });
  }
}

// reconnect says in element that the server does not answer, unless something else stands there.
function reconnect(events, element) {
  const lost = 'isobar ui does not answer; retrying';
  events.onerror = () => { if (!element.firstChild) element.textContent = lost; };
  events.onopen = () => { if (element.textContent === lost) element.textContent = ''; };
}

// follow shows the progress of a run. It reloads the page when the run is
// complete; before that, the reader decides.
function follow(element) {
  const shown = Number(element.dataset.done);
  const bar = element.querySelector('progress');
  const count = element.querySelector('.count');
  const live = element.querySelector('.live');
  const events = new EventSource(`/run/${element.dataset.run}/events`);
  reconnect(events, live);
  events.onmessage = (event) => {
    const { finished, failed, total } = JSON.parse(event.data);
    const done = finished + failed;
    bar.value = done;
    bar.max = total;
    count.textContent = `${done} of ${total} cells` + (failed ? `, ${failed} failed` : '');
    if (done >= total) {
      events.close();
      if (element.id === 'progress') location.reload();
      else live.textContent = 'complete';
    } else if (done > shown && element.id === 'progress' && !live.firstChild) {
      const button = document.createElement('button');
      button.textContent = 'Show the new cells';
      button.addEventListener('click', () => location.reload());
      live.append('More was measured. ', button);
    }
  };
  events.addEventListener('trouble', (event) => {
    events.close();
    live.textContent = event.data;
  });
}

// followFleet replaces the changed parts of the fleet page. The server renders
// them, with names escaped; scrolling regions stay where they are.
function followFleet(section) {
  const events = new EventSource('/fleet/events');
  events.onmessage = (event) => {
    for (const [id, html] of Object.entries(JSON.parse(event.data))) document.getElementById(id).innerHTML = html;
  };
  reconnect(events, section.querySelector('.trouble'));
}

// zoom lets the pointer choose a range of the timeline. Drawings are 480 units
// wide; the frame of this one spans 72 to 464.
function zoom(form) {
  const svg = document.querySelector(`#${form.dataset.plot}`).closest('.plot').querySelector('.panel svg');
  const [left, right] = [72, 464];
  const [from, to] = [Number(form.dataset.from), Number(form.dataset.to)];
  const at = (event) => {
    const box = svg.getBoundingClientRect();
    return Math.min(Math.max((event.clientX - box.left) / box.width * 480, left), right);
  };
  let begin = null;
  const mark = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
  mark.setAttribute('class', 'selection');
  mark.setAttribute('y', '10');
  mark.setAttribute('height', '150');
  svg.classList.add('selecting');
  svg.addEventListener('pointerdown', (event) => {
    begin = at(event);
    mark.setAttribute('width', '0');
    svg.append(mark);
    svg.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  svg.addEventListener('pointermove', (event) => {
    if (begin === null) return;
    mark.setAttribute('x', Math.min(begin, at(event)));
    mark.setAttribute('width', Math.abs(at(event) - begin));
  });
  svg.addEventListener('pointerup', (event) => {
    if (begin === null) return;
    const [a, b] = [Math.min(begin, at(event)), Math.max(begin, at(event))];
    begin = null;
    mark.remove();
    if (b - a < 4) return; // a click
    const ms = (x) => String(+(from + (x - left) / (right - left) * (to - from)).toPrecision(6));
    form.elements.from.value = ms(a);
    form.elements.to.value = ms(b);
    form.requestSubmit();
  });
  svg.addEventListener('pointercancel', () => { begin = null; mark.remove(); });
}

// unfold opens the section that the address names.
function unfold() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target && target.tagName === 'DETAILS') target.open = true;
}

document.addEventListener('DOMContentLoaded', () => {
  keepTheme();
  unfold();
  window.addEventListener('hashchange', unfold);
  document.querySelectorAll('.unfinished').forEach(follow);
  document.querySelectorAll('.zoom').forEach(zoom);
  document.querySelectorAll('.fleet').forEach(followFleet);
});
