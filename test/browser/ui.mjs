// Checks the pages of 'isobar ui' in Chromium. ADDRESS is where it serves a
// store of sample runs (1 and 2 alike, 3 hostile, 4 failed, 5 empty, 6 under
// way, 7 and 8 of three machines) and of advice, a fleet, and the live page of a
// process; EMPTY where it serves none of all that. FINISH is a command that
// measures more of run 6 in STORE, ISOBAR the program, FLEET and TOKEN what a
// worker joins the fleet with. ONLY is an expression for the names of the tests to run.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { overlaps } from './drawings.mjs';

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const address = process.env.ADDRESS.replace(/\/$/, '');
const nothing = process.env.EMPTY.replace(/\/$/, '');
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, headless: true, args: ['--no-sandbox', '--disable-gpu', '--disable-quic'] });

const pages = {
  runs: '/', filtered: '/?q=nothing+of+that+name', run: '/run/1', hostile: '/run/3', failed: '/run/4', unplanned: '/run/5', unfinished: '/run/6',
  cell: '/run/1/cell/2', zoomed: '/run/1/cell/2?units=base&from=200&to=400', pending: '/run/6/cell/80', compare: '/compare?a=1&b=2', choose: '/compare',
  machines: '/run/7', 'compare-machines': '/compare?a=7&b=8',
  claims: '/claims', advice: '/advice', live: '/live', fleet: '/fleet', missing: '/run/99', 'no-store': `${nothing}/`, 'no-store-live': `${nothing}/live`,
  'no-advice': `${nothing}/advice`, 'no-fleet': `${nothing}/fleet`,
};

// Pages that the navigation has and the list above lacks are looked at, too.
const front = await browser.newPage();
await front.goto(address + '/');
for (const path of await front.locator('nav[aria-label="Isobar"] a').evaluateAll((all) => all.map((a) => a.getAttribute('href')))) {
  if (!Object.values(pages).includes(path)) pages[path.slice(1)] = path;
}
await front.close();

// open shows a page and collects what must not happen on it. The pages' policy
// is in force, except where axe must be loaded into them.
async function open(path, { colorScheme = 'light', width = 1440, bypassCSP = false, reducedMotion = 'no-preference', javaScriptEnabled = true } = {}) {
  const context = await browser.newContext({ colorScheme, bypassCSP, reducedMotion, javaScriptEnabled, viewport: { width, height: 900 } });
  const page = await context.newPage();
  const origin = path.startsWith('/') ? address : nothing;
  page.trouble = [];
  page.on('console', (m) => { if (!/status of 404/.test(m.text())) page.trouble.push(`console ${m.type()}: ${m.text()}`); });
  page.on('pageerror', (e) => page.trouble.push(`error: ${e.message}`));
  page.on('dialog', (d) => { page.trouble.push(`dialog: ${d.message()}`); d.dismiss(); });
  page.on('request', (r) => { if (!r.url().startsWith(origin + '/') && !r.url().startsWith('data:')) page.trouble.push(`request: ${r.url()}`); });
  await page.goto(path.startsWith('/') ? address + path : path);
  return page;
}

// axe returns the violations as readable lines. Nothing that is open escapes the
// check, except the drawings: they are those of the
// report, whose test has axe look at them.
async function axe(page, rules = []) {
  await page.evaluate(`globalThis.axe || ${axeSource}`);
  const { violations } = await page.evaluate((only) => globalThis.axe.run({ exclude: ['.panel svg'] },
    { resultTypes: ['violations'], ...(only.length ? { runOnly: only } : {}) }), rules);
  return violations.flatMap((v) => v.nodes.slice(0, 3).map((n) => `${v.id}: ${n.target} ${n.html.slice(0, 120)}`));
}

const background = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
const focused = (page) => page.evaluate(() => document.activeElement.textContent.trim() || document.activeElement.id || document.activeElement.getAttribute('aria-label'));

const tests = [];
const test = (name, run) => tests.push({ name, run });

for (const [name, path] of Object.entries(pages)) {
  test(`${name}: nobody is locked out, light and dark, narrow and wide`, async () => {
    const page = await open(path, { bypassCSP: true });
    // All rules with everything open, then those that colours and width decide
    // with two tables open: the others look the same.
    const looks = ['color-contrast', 'scrollable-region-focusable'];
    const all = ['unfinished', 'zoomed', 'filtered'].includes(name) ? 2 : 1000; // alike to others
    if (/machines/.test(name)) { // what is alike to others is left out: axe takes long over large tables
      await page.evaluate(() => document.querySelectorAll('.workload ~ .workload, section[aria-labelledby="cells"], .plot, .more:not(:has([aria-label^="By machine"]))').forEach((e) => e.remove()));
      await page.evaluate(() => document.querySelectorAll('.more tbody tr:nth-child(n + 30)').forEach((e) => e.remove()));
    }
    const both = [['light', 1440, all], ['dark', 360, 2, looks]];
    for (const [colorScheme, width, open, rules] of /machines/.test(name) ? both : [...both, ['dark', 1440, 2, looks], ['light', 360, 2, looks]]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 900 });
      await page.evaluate((n) => document.querySelectorAll('details').forEach((d, i) => { d.open = i < n; }), open);
      assert.deepEqual(await axe(page, rules), [], `${colorScheme}, ${width} px`);
      const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
      assert.ok(content <= window, `content is ${content} px wide in ${window} px`);
      assert.deepEqual(await page.evaluate(overlaps), [], `texts that overlap at ${width} px`);
    }
  });
  test(`${name}: no errors, nothing of elsewhere, one heading, unique ids`, async () => {
    const page = await open(path);
    await page.evaluate(() => document.querySelectorAll('details').forEach((d) => { d.open = true; }));
    const [levels, ids] = await page.evaluate(() => [
      [...document.querySelectorAll('h1, h2, h3')].map((h) => Number(h.tagName[1])), [...document.querySelectorAll('[id]')].map((e) => e.id)]);
    assert.equal(levels.filter((l) => l === 1).length, 1);
    levels.reduce((before, level) => { assert.ok(level <= before + 1, `h${level} follows h${before}`); return level; }, 0);
    assert.equal(new Set(ids).size, ids.length, 'an id occurs twice');
    assert.equal(await page.locator('.site a[aria-current="page"]').count(), name === 'missing' ? 0 : 1);
    assert.deepEqual(page.trouble, []);
  });
}

test('every plot has a name, a description, a table and an anchor', async () => {
  for (const [path, least] of [['/run/1', 9], ['/run/1/cell/2', 4], ['/compare?a=1&b=2', 15], ['/run/7', 9]]) {
    const page = await open(path);
    const plots = await page.evaluate(() => [...document.querySelectorAll('.plot')].map((p) => ({
      id: p.querySelector('h3').id,
      link: p.querySelector('h3 a').getAttribute('href'),
      rows: p.querySelectorAll('details table tbody tr').length,
      unnamed: [...p.querySelectorAll('.panel svg')].filter((s) => s.getAttribute('role') !== 'img' || !s.querySelector('title').textContent || !s.querySelector('desc').textContent).length,
      drawings: p.querySelectorAll('.panel svg').length,
    })));
    assert.ok(plots.length >= least, `${path}: ${plots.length} plots: ${plots.map((p) => p.id)}`);
    for (const p of plots) assert.ok(p.link === `#${p.id}` && p.rows > 0 && p.drawings > 0 && p.unnamed === 0, JSON.stringify(p));
  }
});

test('a run has every kind of plot', async () => {
  const page = await open('/run/1');
  const titles = await page.locator('.plot h3').allInnerTexts();
  for (const want of ['Latency by percentile', 'GC pauses', 'Speed and memory', 'Heap over time', 'GC setting × goroutines']) {
    assert.ok(titles.some((t) => t.startsWith(want)), `${want} is missing in ${titles}`);
  }
});

test('keyboard only: from the list to a run, a cell and the next one', async () => {
  const page = await open('/');
  const go = async (name) => {
    for (let i = 0; i < 400; i++) {
      await page.keyboard.press('Tab');
      if (await focused(page) === name) {
        const before = page.url();
        await page.keyboard.press('Enter');
        await page.waitForURL((url) => url.href !== before);
        return;
      }
    }
    assert.fail(`the tabulator key does not reach ${name}`);
  };
  await go('1');
  assert.match(page.url(), /\/run\/1$/);
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.className), 'skip');
  await page.locator('#cells').scrollIntoViewIfNeeded();
  await page.locator('.cells a').first().focus();
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/run\/1\/cell\/0$/);
  await go('Cell 1 →');
  assert.match(page.url(), /\/run\/1\/cell\/1$/);
});

test('keyboard only: choose two runs and compare them', async () => {
  const page = await open('/');
  await page.getByLabel('Run 1 as A').focus();
  await page.keyboard.press('Space');
  await page.getByLabel('Run 2 as B').focus();
  await page.keyboard.press('Space');
  await page.getByRole('button', { name: 'Compare B with A' }).focus();
  await page.keyboard.press('Enter');
  await page.waitForURL((url) => url.searchParams.get('a') === '1' && url.searchParams.get('b') === '2');
  assert.equal(await page.locator('h1').innerText(), 'Run 2 against run 1');
});

test('a deep link shows the stretch and the units that it names', async () => {
  const page = await open(pages.zoomed);
  assert.match(await page.locator('#heap').locator('xpath=../figure/figcaption').innerText(), /From 200 ms to 400 ms of/);
  assert.equal(await page.locator('#from').inputValue(), '200');
  const rows = await page.locator('#heap').locator('xpath=../details').locator('tbody th').evaluateAll((all) => all.map((e) => e.textContent));
  assert.ok(rows.length > 10 && rows.every((t) => /^\d+ ns$/.test(t)), rows.slice(0, 3).join());
  assert.ok(rows.every((t) => parseInt(t, 10) >= 2e8 && parseInt(t, 10) <= 4e8));
  await page.locator('#from').fill('300');
  await page.keyboard.press('Enter');
  await page.waitForURL(/from=300&to=400&units=base/);
});

test('the pointer chooses a stretch', async () => {
  const page = await open('/run/1/cell/2');
  const drawing = page.locator('#heap').locator('xpath=../figure').locator('.panel svg');
  await drawing.scrollIntoViewIfNeeded();
  const box = await drawing.boundingBox();
  const at = (x) => box.x + x / 480 * box.width;
  await page.mouse.move(at(72 + 98), box.y + 40);
  await page.mouse.down();
  await page.mouse.move(at(72 + 196), box.y + 60, { steps: 4 });
  await page.mouse.up();
  await page.waitForURL(/from=/);
  const [from, to] = ['from', 'to'].map((k) => Number(new URL(page.url()).searchParams.get(k)));
  assert.ok(Math.abs(from - 250) < 10 && Math.abs(to - 500) < 10, page.url());
});

test('the theme is kept from page to page', async () => {
  const page = await open('/');
  const light = await background(page);
  await page.locator('#theme-dark').check();
  const dark = await background(page);
  assert.notEqual(dark, light);
  await page.goto(address + '/live');
  assert.equal(await background(page), dark);
  assert.ok(await page.locator('#theme-dark').isChecked());
  await page.locator('#theme-auto').check();
  await page.goto(address + '/');
  assert.equal(await background(page), light);
});

test('reduced motion is honoured', async () => {
  const page = await open('/run/1', { reducedMotion: 'reduce' });
  assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).scrollBehavior), 'auto');
});

test('all of it is there without a script', async () => {
  const page = await open('/run/1', { javaScriptEnabled: false });
  assert.ok(await page.locator('.plot svg').count() > 10);
  const light = await page.locator('body').evaluate((b) => getComputedStyle(b).backgroundColor);
  await page.locator('#theme-dark').check();
  assert.notEqual(await page.locator('body').evaluate((b) => getComputedStyle(b).backgroundColor), light);
});

test('the policy forbids scripts and styles in a page', async () => {
  const page = await open('/run/1');
  await page.evaluate(() => {
    const s = document.createElement('script');
    s.textContent = 'document.title = "owned"';
    document.body.append(s);
    document.body.setAttribute('style', 'display: none');
  });
  assert.notEqual(await page.title(), 'owned');
  assert.notEqual(await page.evaluate(() => getComputedStyle(document.body).display), 'none');
  assert.equal(page.trouble.length, 2, page.trouble.join('\n'));
});

test('text of the user stays text', async () => {
  for (const path of ['/', '/run/3', '/run/3/cell/0']) {
    const page = await open(path);
    assert.equal(await page.locator('main script, main img, iframe, object, [onerror]').count(), 0, path);
    assert.match(await page.evaluate(() => document.body.textContent), /<script>document\.title="owned"<\/script>/);
    assert.doesNotMatch(await page.evaluate(() => document.body.textContent), /[\u202e\u001b]/);
    assert.notEqual(await page.title(), 'owned');
  }
});

test('links lead somewhere', async () => {
  for (const path of ['/', '/run/1', '/run/1/cell/2', '/compare?a=1&b=2', '/live']) {
    const page = await open(path);
    const links = await page.evaluate(() => [...document.querySelectorAll('a')].map((a) => a.getAttribute('href')));
    assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll('a[href^="#"]')].map((a) => a.getAttribute('href')).filter((h) => !document.getElementById(h.slice(1)))), []);
    const inner = [...new Set(links.filter((h) => !h.startsWith('#')))].filter((h, i) => i < 30);
    for (const href of inner) {
      const response = await page.request.get(new URL(href, page.url()).href);
      assert.equal(response.status(), 200, `${path} links to ${href}`);
    }
  }
});

test('an empty store shows the command to run', async () => {
  const page = await open(nothing + '/');
  assert.match(await page.locator('.command').first().innerText(), /^isobar --store \S+none\.db lab$/);
});

test('each machine stands beside the whole, and disagreement is said', async () => {
  const page = await open('/run/7');
  assert.match(await page.locator('.found').innerText(), /machines disagree about chanpool|had different effects across machines/);
  const rows = await page.locator('[aria-label^="By machine"] tbody td').evaluateAll((all) => all.map((e) => e.textContent));
  for (const machine of ['east-1', 'east-2', 'west-1']) assert.ok(rows.includes(machine), rows.join());
  assert.match(await page.locator('section[aria-labelledby="machine"]').innerText(), /EPYC 7B13[^]*Xeon Platinum/);
});

test('an empty fleet, advice and live page show the commands to run', async () => {
  for (const [path, want] of [['/fleet', 'ui --fleet nats://127.0.0.1:4222 --fleet-token-file FILE'], ['/advice', 'advise --bench . --save ./...'], ['/live', 'ui --watch http://localhost:6060']]) {
    const page = await open(nothing + path);
    assert.ok((await page.locator('.command').allInnerTexts()).some((c) => c.startsWith('isobar --store ') && c.endsWith(` ${want}`)), path);
  }
});

test('advice has its findings, code, figures and checks', async () => {
  const page = await open('/advice');
  assert.match(await page.locator('h1').innerText(), /^Isobar advice: p/);
  assert.deepEqual(await page.locator('.outcome').allInnerTexts(), ['remedy', 'look', 'kept', 'kept', 'dropped']);
  await page.locator('.advice h3 a').first().click();
  assert.match(page.url(), /#check-regexpcompile$/);
  assert.equal(await page.locator('main script, main img, iframe, object').count(), 0);
  assert.notEqual(await page.title(), 'owned');
});

test('the fleet is followed without loading the page again', async () => {
  const page = await open('/fleet');
  await page.evaluate(() => { globalThis.here = true; });
  // The page follows the fleet: a worker that answers late comes with a later event.
  const shows = (id, text) => page.waitForFunction(([id, text]) => new RegExp(text).test(document.getElementById(id).innerText), [id, text], { timeout: 60_000 });
  await shows('fleet-workers', 'first <b>');
  await shows('fleet-sweeps', 'zone');
  const second = spawn(process.env.ISOBAR, ['worker', process.env.FLEET, '--token-file', process.env.TOKEN, '--name', 'second', '--dir', join(process.env.STORE, '../second')], { stdio: 'ignore' });
  try {
    await shows('fleet-workers', 'second');
    await shows('fleet-counts', '2\\s+Workers|Workers\\s+2');
  } finally {
    second.kill('SIGTERM');
  }
  await page.waitForFunction(() => !/second/.test(document.getElementById('fleet-workers').textContent), null, { timeout: 60_000 });
  assert.ok(await page.evaluate(() => globalThis.here), 'the page was loaded again');
  assert.equal(await page.locator('#fleet-workers script, #fleet-workers b').count(), 0);
  assert.deepEqual(page.trouble, []);
});

test('the live page of a process: nobody is locked out, samples come', async () => {
  const list = await open('/live');
  const link = await list.locator('main ul a[href^="/live/"]').getAttribute('href');
  const page = await open(link, { bypassCSP: true });
  await page.waitForFunction(() => document.getElementById('state').textContent === 'Live' && document.querySelectorAll('canvas').length > 4, null, { timeout: 60_000 });
  for (const [colorScheme, width] of [['light', 1440], ['dark', 360], ['dark', 1440], ['light', 360]]) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    assert.deepEqual(await axe(page), [], `${colorScheme}, ${width} px`);
    const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
    assert.ok(content <= window, `content is ${content} px wide in ${window} px`);
  }
  assert.deepEqual((await open(link)).trouble, []);
});

test('a server that stops is missed, and found again', async () => {
  const serve = (port) => spawn(process.env.ISOBAR, ['--store', process.env.STORE, 'ui', '--addr', `127.0.0.1:${port}`], { stdio: ['ignore', 'pipe', 'ignore'] });
  let server = serve(0);
  try {
    const [line] = await once(server.stdout, 'data');
    const port = new URL(String(line).trim()).port;
    const page = await open('/');
    await page.goto(`http://127.0.0.1:${port}/run/6`);
    server.kill('SIGINT');
    const says = (text) => page.waitForFunction((text) => document.querySelector('.live').textContent === text, text, { timeout: 60_000 });
    await says('isobar ui does not answer; retrying');
    server = serve(port);
    await says('');
  } finally {
    server.kill('SIGINT');
  }
});

// The last one: it changes the store.
test('a run that goes on shows its progress, and reloads when it is complete', async () => {
  const [run, live] = [await open('/run/6'), await open('/live')];
  assert.match(await run.locator('.unfinished .count').innerText(), /40 of 87 cells/);
  execFileSync(process.env.FINISH, ['-kind', 'brief', '-records', '60', '-finish', '6', '-store', process.env.STORE]);
  await run.waitForFunction(() => /60 of 87/.test(document.querySelector('.unfinished .count').textContent), null, { timeout: 60_000 });
  await run.getByRole('button', { name: 'Show the new cells' }).waitFor();
  execFileSync(process.env.FINISH, ['-kind', 'brief', '-finish', '6', '-store', process.env.STORE]);
  await run.waitForFunction(() => !document.querySelector('.unfinished'), null, { timeout: 60_000 });
  await live.waitForFunction(() => /complete/.test(document.querySelector('.unfinished').textContent), null, { timeout: 60_000 });
  assert.deepEqual(run.trouble, []);
});

async function screenshots(directory) {
  mkdirSync(directory, { recursive: true });
  for (const [name, path] of Object.entries({ ...pages, 'live-process': '/live/1/' })) {
    for (const [kind, options] of Object.entries({ light: {}, dark: { colorScheme: 'dark' }, narrow: { width: 360 } })) {
      const page = await open(path, options);
      if (name === 'live-process') await page.waitForTimeout(3000); // some samples
      await page.screenshot({ path: join(directory, `ui-${name}-${kind}.png`), fullPage: true });
      await page.context().close();
    }
  }
}

if (process.env.SCREENSHOTS) await screenshots(process.env.SCREENSHOTS);
let failed = 0;
const chosen = tests.filter((t) => t.name.match(process.env.ONLY || ''));
for (const { name, run } of chosen) {
  const begun = Date.now();
  try {
    await run();
  } catch (e) {
    failed++;
    console.log(`FAIL ${name}\n     ${e.message.split('\n').slice(0, 14).join('\n     ')}`);
  }
  if (process.env.TIMES) console.log(`${Date.now() - begun} ms ${name}`);
  for (const context of browser.contexts()) await context.close();
}
await browser.close();
console.log(`${chosen.length - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
