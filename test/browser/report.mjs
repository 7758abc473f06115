// Checks the report in Chromium: what is loaded, what is shown, and whether
// everybody can use it. Pages come from the tests of internal/show.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import { overlaps } from './drawings.mjs';

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const kinds = ['study', 'hostile', 'empty', 'failed', 'tune', 'advice', 'heap', 'claims'];
const wide = { width: 1280, height: 900 };
const tablet = { width: 768, height: 1024 };
const narrow = { width: 360, height: 740 };

const profile = mkdtempSync(join(tmpdir(), 'isobar-browser-'));
const context = await chromium.launchPersistentContext(profile, {
  executablePath: process.env.CHROMIUM,
  headless: true,
  bypassCSP: true, // for axe; the policy itself is a test of its own
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync'],
});

// open shows a page and collects what must not happen on it.
async function open(kind, { viewport = wide, colorScheme = 'light' } = {}) {
  const page = await context.newPage();
  page.trouble = [];
  page.on('console', (m) => page.trouble.push(`console ${m.type()}: ${m.text()}`));
  page.on('pageerror', (e) => page.trouble.push(`error: ${e.message}`));
  page.on('dialog', (d) => { page.trouble.push(`dialog: ${d.message()}`); d.dismiss(); });
  const address = pathToFileURL(join(process.env.PAGES, `${kind}.html`)).href;
  page.on('request', (r) => { if (r.url() !== address) page.trouble.push(`request: ${r.url()}`); });
  await page.setViewportSize(viewport);
  await page.emulateMedia({ colorScheme });
  await page.goto(address);
  return page;
}

// axe returns the violations as readable lines. Everything is opened first,
// so that nothing escapes the check.
async function axe(page) {
  await page.evaluate(() => document.querySelectorAll('details').forEach((d) => { d.open = true; }));
  await page.evaluate(axeSource);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  return violations.flatMap((v) => v.nodes.slice(0, 3).map((n) => `${v.id}: ${n.target} ${n.html.slice(0, 120)}`));
}

const background = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);

const tests = [];
const test = (name, run) => tests.push({ name, run });

for (const kind of kinds) {
  for (const colorScheme of ['light', 'dark']) {
    test(`${kind}: nobody is locked out, ${colorScheme}`, async () => {
      const page = await open(kind, { colorScheme });
      assert.deepEqual(await axe(page), []);
    });
  }
  test(`${kind}: nothing is requested, no errors`, async () => {
    const page = await open(kind);
    await page.evaluate(() => document.querySelectorAll('details').forEach((d) => { d.open = true; }));
    await page.waitForLoadState('networkidle');
    assert.deepEqual(page.trouble, []);
  });
  for (const viewport of [narrow, tablet, wide]) {
    test(`${kind}: no sideways scrolling at ${viewport.width} px`, async () => {
      const page = await open(kind, { viewport });
      await page.evaluate(() => document.querySelectorAll('details').forEach((d) => { d.open = true; }));
      const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
      assert.ok(content <= window, `content is ${content} px wide in ${window} px`);
    });
  }
  test(`${kind}: text in drawings does not overlap`, async () => {
    for (const viewport of [wide, tablet, narrow]) {
      const page = await open(kind, { viewport });
      assert.deepEqual(await page.evaluate(overlaps), [], `at ${viewport.width} px`);
      await page.close();
    }
  });
  test(`${kind}: headings in order, ids unique`, async () => {
    const page = await open(kind);
    const [levels, ids] = await page.evaluate(() => [
      [...document.querySelectorAll('h1,h2,h3,h4')].map((h) => Number(h.tagName[1])), [...document.querySelectorAll('[id]')].map((e) => e.id)]);
    assert.equal(levels.filter((l) => l === 1).length, 1);
    levels.reduce((before, level) => { assert.ok(level <= before + 1, `h${level} follows h${before}`); return level; }, 0);
    assert.equal(new Set(ids).size, ids.length, 'an id occurs twice');
  });
}

test('a link to a claim opens its story', async () => {
  const page = await open('claims');
  await page.getByRole('link', { name: '000/ratio' }).click();
  assert.ok(await page.getByText('two equal configurations of the run').isVisible());
});

test('every drawing has a title and a description', async () => {
  for (const kind of kinds) {
    const page = await open(kind);
    const unnamed = await page.evaluate(() => [...document.querySelectorAll('svg:not([aria-hidden])')]
      .filter((s) => !s.querySelector('title')?.textContent || !s.querySelector('desc')?.textContent).length);
    assert.equal(unnamed, 0, kind);
    await page.close();
  }
});

test('every plot has a name, a description, a table and an anchor', async () => {
  const page = await open('study');
  const plots = await page.evaluate(() => [...document.querySelectorAll('.plot')].map((p) => ({
    id: p.querySelector('h3').id,
    link: p.querySelector('h3 a').getAttribute('href'),
    caption: p.querySelector('figcaption').textContent.length,
    rows: p.querySelectorAll('details table tbody tr').length,
    unnamed: [...p.querySelectorAll('.panel svg')].filter((s) => s.getAttribute('role') !== 'img' || !s.querySelector('title').textContent || !s.querySelector('desc').textContent).length,
    drawings: p.querySelectorAll('.panel svg').length,
  })));
  assert.ok(plots.length >= 12, `${plots.length} plots`);
  for (const p of plots) {
    assert.ok(p.link === `#${p.id}` && p.caption > 0 && p.rows > 0 && p.drawings > 0 && p.unnamed === 0, JSON.stringify(p));
  }
});

test('the report says what was found and how to repeat it', async () => {
  const page = await open('study');
  assert.ok(await page.locator('section.found li').count() > 0);
  assert.match(await page.locator('.facts code').innerText(), /--seed/);
  assert.ok(await page.locator('td.better, td.worse').count() > 0);
  assert.ok(await page.getByRole('heading', { name: /Strategy × GC setting/ }).isVisible());
});

test('the theme can be chosen by keyboard', async () => {
  const page = await open('study', { colorScheme: 'light' });
  const light = await background(page);
  await page.keyboard.press('Tab'); // the skip link
  assert.equal(await page.evaluate(() => document.activeElement.className), 'skip');
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'theme-auto');
  await page.keyboard.press('ArrowRight');
  assert.equal(await background(page), light, 'light on a light system');
  await page.keyboard.press('ArrowRight');
  const dark = await background(page);
  assert.notEqual(dark, light);
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.keyboard.press('ArrowLeft');
  assert.equal(await background(page), light, 'light on a dark system');
  await page.keyboard.press('ArrowLeft');
  assert.equal(await background(page), dark, 'auto follows the system');
});

test('a chosen theme is accessible too', async () => {
  const page = await open('study', { colorScheme: 'light' });
  await page.locator('#theme-dark').check();
  assert.deepEqual(await axe(page), []);
});

test('the skip link leads to the content', async () => {
  const page = await open('study');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.waitForURL((url) => url.hash === '#content', { timeout: 10_000 }); // the key is handled after press returns
});

test('links inside the page lead somewhere', async () => {
  const page = await open('study');
  assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll('a')].map((a) => a.getAttribute('href'))
    .filter((h) => !h.startsWith('#') || !document.getElementById(h.slice(1)))), []);
});

test('tables that are wider than the screen scroll by keyboard', async () => {
  const page = await open('study', { viewport: narrow });
  const table = page.locator('.grid .scroll').last();
  await table.focus();
  assert.ok(await table.evaluate((e) => e.scrollWidth > e.clientWidth), 'the table fits: the test needs a wider one');
  await page.keyboard.press('ArrowRight');
  await page.waitForFunction((e) => e.scrollLeft > 0, await table.elementHandle());
});

test('print shows every table, in light colours, and cuts nothing off', async () => {
  const page = await open('study', { colorScheme: 'dark' });
  await page.locator('#theme-dark').check();
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  await page.setViewportSize({ width: 794, height: 1123 }); // A4 at 96 dpi
  const hidden = await page.evaluate(() => [...document.querySelectorAll('table')].filter((t) => !t.checkVisibility({ contentVisibilityAuto: true }) || t.getBoundingClientRect().height === 0).length);
  assert.equal(hidden, 0, 'tables that are not shown');
  assert.equal(await background(page), 'rgb(255, 255, 255)');
  const cut = await page.evaluate(() => [...document.querySelectorAll('.panel svg')].filter((s) => s.getBoundingClientRect().right > innerWidth).length);
  assert.equal(cut, 0, 'plots that are cut off');
  const pdf = await page.pdf({ format: 'A4' });
  assert.ok(pdf.length > 50_000);
});

test('the policy in the file forbids scripts', async () => {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
  try {
    const page = await browser.newPage();
    await page.goto(pathToFileURL(join(process.env.PAGES, 'study.html')).href);
    await page.evaluate(() => {
      const s = document.createElement('script');
      s.textContent = 'document.title = "owned"';
      document.body.append(s);
    });
    assert.notEqual(await page.title(), 'owned');
  } finally {
    await browser.close();
  }
});

test('text of the user stays text', async () => {
  const page = await open('hostile');
  assert.match(await page.title(), /<script>/);
  assert.equal(await page.locator('script, img, iframe, object, [onerror]').count(), 0);
  assert.match(await page.locator('h1').innerText(), /<script>document\.title="owned"<\/script>/);
  assert.doesNotMatch(await page.evaluate(() => document.body.textContent), /[\u202e\u001b]/);
});

async function screenshots(directory) {
  mkdirSync(directory, { recursive: true });
  for (const [name, options] of Object.entries({ light: {}, dark: { colorScheme: 'dark' }, narrow: { viewport: narrow } })) {
    const page = await open('study', options);
    await page.screenshot({ path: join(directory, `report-${name}.png`), fullPage: true });
    await page.close();
  }
}

let failed = 0;
try {
  for (const { name, run } of tests) {
    try {
      await run();
    } catch (e) {
      failed++;
      console.log(`FAIL ${name}\n     ${e.message.split('\n').slice(0, 14).join('\n     ')}`);
    }
    // One page stays, or the browser would end.
    for (const page of context.pages().slice(1)) await page.close();
  }
  if (process.env.SCREENSHOTS) await screenshots(process.env.SCREENSHOTS);
} finally {
  await context.close();
  rmSync(profile, { recursive: true, force: true });
}
console.log(`${tests.length - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
