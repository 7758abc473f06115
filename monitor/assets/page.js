// The live page: history first, then new samples as server-sent events.
'use strict';

const dashes = [[], [7, 3], [2, 3], [9, 3, 2, 3], [4, 4], [1, 4]];
const tableRows = 30;
const state = document.getElementById('state');
const button = document.getElementById('pause');
const range = document.getElementById('range');
let charts = [];
let rows = []; // samples: [ms, values ...]
let silent = []; // columns of figures that no sample has yet: they are not shown
let keep = 0;
let paused = false;

// Numbers are shown with three significant digits and their unit.
const binary = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
function show(v, unit) {
  if (v === null || v === undefined) return '–';
  if (unit.startsWith('bytes')) {
    let i = 0;
    while (Math.abs(v) >= 1024 && i < binary.length - 1) { v /= 1024; i++; }
    return `${+v.toPrecision(3)} ${binary[i]}${unit.slice(5)}`;
  }
  if (unit === 'seconds') {
    if (v === 0) return '0 s';
    const [scale, name] = v < 1e-3 ? [1e6, 'µs'] : v < 1 ? [1e3, 'ms'] : [1, 's'];
    return `${+(v * scale).toPrecision(3)} ${name}`;
  }
  if (unit === 'percent') return `${+v.toPrecision(3)} %`;
  if (unit === 'seconds/s') return `${+(v * 100).toPrecision(3)} %`;
  if (unit === 'cpu-seconds/s') return `${+(v * 100).toPrecision(3)} % of a CPU`;
  return `${v >= 1000 ? Math.round(v).toLocaleString('en') : +v.toPrecision(3)} ${unit}`;
}
const brief = (v, unit) => show(v, unit).replace(/ % of a CPU$/, ' %').replace(/ (goroutines|objects|events|gc-cycles|tasks|gets|connections|requests)(\/s)?$/, '$2');

// Byte axes use round binary numbers.
const powers = Array.from({ length: 50 }, (_, i) => 2 ** i);

// series turns the kept samples into chart data: numbers as they are, counters
// as rates.
function series(chart) {
  const from = Number(range.value);
  const shown = from ? rows.filter((r) => r[0] >= rows[rows.length - 1][0] - from * 1000) : rows;
  const out = [shown.map((r) => r[0] / 1000)];
  for (const f of chart.figures) {
    out.push(shown.map((r, i) => {
      if (!f.counter) return r[f.column];
      const before = shown[i - 1];
      if (!before || r[f.column] === null || before[f.column] === null) return null;
      return (r[f.column] - before[f.column]) * 1000 / (r[0] - before[0]);
    }));
  }
  return out;
}

// Canvas does not support light-dark(); an element resolves it.
function color(name) {
  const probe = document.createElement('i');
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}

function element(name, attributes, ...children) {
  const e = document.createElement(name);
  Object.assign(e, attributes);
  e.append(...children);
  return e;
}

function swatch() {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', '0 0 30 10');
  svg.setAttribute('aria-hidden', 'true');
  const line = document.createElementNS('http://www.w3.org/2000/svg', 'line');
  for (const [k, v] of [['x1', 0], ['x2', 30], ['y1', 5], ['y2', 5]]) line.setAttribute(k, v);
  svg.append(line);
  return svg;
}

function build(title, figures) {
  const unit = figures[0].unit + (figures[0].counter ? '/s' : '');
  const chart = { title, figures, unit, open: false };
  chart.values = figures.map(() => element('b', {}));
  chart.plot = element('div', { className: 'plot' });
  chart.plot.setAttribute('role', 'img');
  chart.body = element('tbody', {});
  const table = element('table', {},
    element('thead', {}, element('tr', {}, element('th', { scope: 'col', textContent: 'time' }), ...figures.map((f) => element('th', { scope: 'col', textContent: f.name })))),
    chart.body);
  const scroll = element('div', { className: 'scroll', tabIndex: 0 }, table);
  scroll.setAttribute('role', 'region');
  scroll.setAttribute('aria-label', `${title}: last samples`);
  const details = element('details', {}, element('summary', { textContent: 'Table', ariaLabel: `Table: ${title}` }), scroll);
  details.addEventListener('toggle', () => { chart.open = details.open; update(chart); });
  const section = element('section', {},
    element('h2', { textContent: title }),
    element('ul', { className: 'legend' }, ...figures.map((f, i) => element('li', { className: `l${i % 6}`, title: f.help }, swatch(), `${f.name} `, chart.values[i]))),
    chart.plot, details);
  document.getElementById('charts').append(section);
  draw(chart);
  return chart;
}

// Times are as in the reports: 24 hours, and the date where it changes.
const times = [
  [86400, '{YYYY}-{MM}-{DD}', null, null, null, null, null, null, 1],
  [60, '{HH}:{mm}', '\n{YYYY}-{MM}-{DD}', null, '\n{YYYY}-{MM}-{DD}', null, null, null, 1],
  [1, '{HH}:{mm}:{ss}', '\n{YYYY}-{MM}-{DD}', null, '\n{YYYY}-{MM}-{DD}', null, null, null, 1],
];

function draw(chart) {
  if (chart.u) chart.u.destroy();
  const [ink, grid] = [color('--quiet'), color('--grid')];
  const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 } };
  chart.u = new uPlot({
    width: chart.plot.clientWidth || 300, height: 200,
    legend: { show: false }, cursor: { drag: { x: false, y: false } },
    scales: { y: { range: (_, low, high) => [0, high > 0 ? high * 1.05 : 1] } },
    axes: [{ ...axis, space: 70, values: times }, { ...axis, size: 78, incrs: chart.unit.startsWith('bytes') ? powers : undefined, values: (_, ticks) => ticks.map((v) => brief(v, chart.unit)) }],
    series: [{}, ...chart.figures.map((f, i) => ({ stroke: color(`--c${i % 6}`), width: 1.8, dash: dashes[i % 6], points: { show: false }, spanGaps: false }))],
  }, series(chart), chart.plot);
}

function update(chart) {
  const data = series(chart);
  if (data[0].length === 0) return;
  chart.u.setData(data);
  const last = data[0].length - 1;
  chart.figures.forEach((f, i) => { chart.values[i].textContent = show(data[i + 1][last], chart.unit); });
  chart.plot.setAttribute('aria-label', `${chart.title}: ${chart.figures.map((f, i) => `${f.name} ${show(data[i + 1][last], chart.unit)}`).join(', ')}`);
  if (!chart.open) return;
  const lines = [];
  for (let i = last; i >= 0 && i > last - tableRows; i--) {
    lines.push(element('tr', {}, element('td', { textContent: new Date(data[0][i] * 1000).toLocaleTimeString('en-GB') }),
      ...chart.figures.map((_, k) => element('td', { textContent: show(data[k + 1][i], chart.unit) }))));
  }
  chart.body.replaceChildren(...lines);
}

function refresh() {
  if (!paused) charts.forEach(update);
}

async function start() {
  let history;
  try {
    const answer = await fetch('history');
    if (!answer.ok) throw new Error(await answer.text());
    history = await answer.json();
  } catch (e) {
    state.textContent = `No figures: ${e.message}. Trying again.`;
    setTimeout(start, 3000);
    return;
  }
  rows = history.rows;
  keep = history.keep;
  const byTitle = new Map();
  silent = [];
  history.figures.forEach((f, i) => {
    f.column = i + 1;
    if (rows.length > 0 && rows.every((r) => r[f.column] === null)) {
      silent.push(f.column);
      return;
    }
    f.name = f.key.slice(0, f.key.indexOf(':')).split('/').slice(-2).join(' ');
    byTitle.set(f.chart, [...(byTitle.get(f.chart) || []), f]);
  });
  document.getElementById('charts').replaceChildren();
  charts = [...byTitle].map(([title, figures]) => build(title, figures));
  refresh();
  listen(history.next);
}

function listen(from) {
  const stream = new EventSource(`stream?from=${from}`);
  stream.onopen = () => { state.textContent = 'Live'; };
  stream.onerror = () => { state.textContent = 'Connection lost; trying again'; };
  stream.onmessage = (e) => {
    const fresh = JSON.parse(e.data);
    // The process has restarted, or figures came in that are not shown.
    if (e.lastEventId.split('-')[0] !== from.split('-')[0] || fresh.some((r) => silent.some((c) => r[c] !== null))) {
      stream.close();
      start();
      return;
    }
    rows.push(...fresh);
    if (rows.length > keep) rows.splice(0, rows.length - keep);
    refresh();
  };
}

button.addEventListener('click', () => {
  paused = !paused;
  button.setAttribute('aria-pressed', String(paused));
  button.textContent = paused ? 'Resume' : 'Pause';
  refresh();
});
range.addEventListener('change', () => charts.forEach(update));
new ResizeObserver(() => charts.forEach((c) => c.u.setSize({ width: c.plot.clientWidth, height: 200 }))).observe(document.getElementById('charts'));
const redraw = () => charts.forEach((c) => { draw(c); update(c); });
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
for (const [event, scheme] of [['beforeprint', 'light'], ['afterprint', '']]) { // paper is white
  addEventListener(event, () => {
    document.documentElement.style.colorScheme = scheme;
    redraw();
    if (scheme) charts.forEach((c) => c.u.setSize({ width: Math.min(c.plot.clientWidth, 640), height: 200 })); // fits A4
  });
}
start();
