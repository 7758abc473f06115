// Checks the live page of examples/monitor in Chromium. ADDRESS is where it
// runs, RESTART a file whose creation has run.sh start it anew there.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const address = process.env.ADDRESS;
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, headless: true, args: ['--no-sandbox', '--disable-gpu', '--disable-quic'] });

// open shows the page and collects what must not happen on it. The page's
// policy is in force, except where axe must be loaded into it.
async function open({ colorScheme = 'light', width = 1440, bypassCSP = false } = {}) {
  const context = await browser.newContext({ colorScheme, bypassCSP, viewport: { width, height: 900 } });
  const page = await context.newPage();
  page.trouble = [];
  page.on('console', (m) => page.trouble.push(`console ${m.type()}: ${m.text()}`));
  page.on('pageerror', (e) => page.trouble.push(`error: ${e.message}`));
  page.on('request', (r) => { if (!r.url().startsWith(address) && !r.url().startsWith('data:')) page.trouble.push(`request: ${r.url()}`); });
  await page.goto(address);
  await page.waitForFunction(() => document.getElementById('state').textContent === 'Live');
  return page;
}

const tests = [];
const test = (name, run) => tests.push({ name, run });

for (const colorScheme of ['light', 'dark']) {
  for (const width of [360, 1440]) {
    test(`nobody is locked out, ${colorScheme}, ${width} px`, async () => {
      const page = await open({ colorScheme, width, bypassCSP: true });
      await page.evaluate(() => document.querySelectorAll('details').forEach((d) => { d.open = true; }));
      await page.evaluate(axeSource);
      const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
      assert.deepEqual(violations.flatMap((v) => v.nodes.slice(0, 3).map((n) => `${v.id}: ${n.target}`)), []);
      const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
      assert.ok(content <= window, `content is ${content} px wide in ${window} px`);
    });
  }
}

test('figures come in, without errors or foreign requests', async () => {
  const page = await open();
  const before = await page.evaluate(() => rows.length);
  await page.waitForFunction((n) => rows.length >= n + 2, before);
  assert.deepEqual(page.trouble, []);
  assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll('h2')].map((h) => h.textContent).slice(0, 3)), ['Heap', 'Memory of the process', 'CPU time of the collector']);
  const text = await page.locator('section', { hasText: 'Allocation' }).first().innerText();
  assert.match(text, /alloc size\s+\d+(\.\d+)? MiB\/s/);
});

test('every chart has a name, a table and a drawing', async () => {
  const page = await open();
  const charts = await page.evaluate(() => [...document.querySelectorAll('main section')].map((s) => ({
    title: s.querySelector('h2').textContent,
    label: s.querySelector('.plot').getAttribute('aria-label'),
    canvas: s.querySelectorAll('canvas').length,
  })));
  assert.ok(charts.length >= 12, `${charts.length} charts`);
  for (const c of charts) assert.ok(c.label && c.label.startsWith(c.title) && c.canvas === 1, JSON.stringify(c));
  await page.waitForFunction(() => rows.length > 3);
  await page.locator('summary').first().click();
  const row = page.locator('section').first().locator('tbody tr').first();
  await row.waitFor(); // the table is filled when it has opened
  const cells = await row.locator('td').allInnerTexts();
  assert.equal(cells.length, 4);
  assert.match(cells[1], /MiB$/);
});

test('shares of time are percentages, and what no sample has is not shown', async () => {
  const page = await open();
  assert.deepEqual(await page.evaluate(() => [show(0.00182, 'seconds/s'), brief(0.5, 'seconds/s'), brief(0, 'seconds/s')]), ['0.182 %', '50 %', '0 %']);
  await page.waitForFunction(() => rows.length > 1);
  const shown = await page.evaluate(async () => {
    const real = window.fetch;
    window.fetch = async () => ({ ok: true, json: async () => {
      const history = await (await real('history')).json();
      history.rows.forEach((r) => { r[1] = null; });
      return history;
    } });
    await start();
    return charts.flatMap((c) => c.figures.map((f) => f.column));
  });
  assert.ok(shown.length > 4 && !shown.includes(1), `columns ${shown}`);
  await page.waitForFunction(() => charts.flatMap((c) => c.figures.map((f) => f.column)).length > 4);
});

test('the drawing is not empty', async () => {
  const page = await open();
  await page.waitForFunction(() => rows.length > 3);
  const inked = await page.evaluate(() => [...document.querySelectorAll('canvas')].map((c) => {
    const data = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
    const colors = new Set();
    for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 200) colors.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
    return colors.size;
  }));
  assert.ok(inked[0] > 3 && inked.every((n) => n > 1), `colors of the drawings: ${inked}`);
});

test('keyboard: pause and go on', async () => {
  const page = await open();
  for (let i = 0; i < 10 && await page.evaluate(() => document.activeElement.id) !== 'pause'; i++) await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  assert.equal(await page.locator('#pause').getAttribute('aria-pressed'), 'true');
  await page.waitForTimeout(200);
  const held = await page.locator('section').first().innerText();
  const before = await page.evaluate(() => rows.length);
  await page.waitForFunction((n) => rows.length >= n + 2, before);
  assert.equal(await page.locator('section').first().innerText(), held);
  await page.keyboard.press('Enter');
  assert.equal(await page.locator('#pause').getAttribute('aria-pressed'), 'false');
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'range');
});

test('a process that starts anew is followed', async () => {
  const page = await open();
  await page.evaluate(() => { window.first = rows[0][0]; });
  writeFileSync(process.env.RESTART, '');
  await page.waitForFunction(() => document.getElementById('state').textContent !== 'Live', null, { timeout: 30_000 });
  await page.waitForFunction(() => document.getElementById('state').textContent === 'Live' && rows[0][0] > window.first, null, { timeout: 60_000 });
});

let failed = 0;
for (const { name, run } of tests) {
  try {
    await run();
  } catch (e) {
    failed++;
    console.log(`FAIL ${name}\n     ${e.message.split('\n').slice(0, 14).join('\n     ')}`);
  }
  for (const context of browser.contexts()) await context.close();
}
if (process.env.SCREENSHOTS) {
  mkdirSync(process.env.SCREENSHOTS, { recursive: true });
  for (const [name, options] of Object.entries({ light: {}, dark: { colorScheme: 'dark' }, narrow: { width: 360 } })) {
    const page = await open(options);
    await page.waitForTimeout(3000);
    await page.screenshot({ path: join(process.env.SCREENSHOTS, `monitor-${name}.png`), fullPage: true });
  }
}
await browser.close();
console.log(`${tests.length - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
