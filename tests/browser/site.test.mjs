// The site of the documentation, where `make site` has built it: pages open from disk, and search finds words.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { ROOT, open, shot, skip, start } from "./browser.mjs";

const HTML = join(ROOT, "target", "site", "html");
const why = skip || (existsSync(join(HTML, "index.html")) ? false : "no site: make site");
let browser;

before(async () => { if (!why) browser = await start(); });
after(async () => { await browser?.close(); });

test("pages open from disk and ask for nothing", { skip: why }, async () => {
  for (const [name, file, width] of [["site-wide", "index.html", 1280], ["site-narrow", "docs/guide/sweeps.html", 390], ["site-gallery", "docs/guide/gallery.html", 1280]]) {
    const page = await open(browser, join(HTML, file), { width });
    assert.ok((await page.locator("h1").count()) >= 1);
    const broken = await page.evaluate(() => [...document.images].filter((each) => each.complete && !each.naturalWidth).map((each) => each.src));
    assert.deepEqual(broken, []);
    await shot(page, name);
    assert.deepEqual(page.faults, []);
    await page.context().close();
  }
});

test("search works from disk", { skip: why }, async () => {
  const page = await open(browser, join(HTML, "index.html"), { width: 1280 });
  await page.keyboard.press("/");
  await page.keyboard.type("headroom", { delay: 20 });
  const hit = page.locator("a[href*='.html']", { hasText: /headroom/i }).first();
  await hit.waitFor({ state: "visible", timeout: 30_000 });
  await shot(page, "site-search");
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("a lesson of the site opens its runs in the laboratory beside it", { skip: why }, async () => {
  for (const [name, width] of [["site-lesson-wide", 1280], ["site-lesson-narrow", 390]]) {
    const page = await open(browser, join(HTML, "docs/lessons/3-lag-and-sampling.html"), { width });
    await shot(page, name);
    const link = page.getByRole("link", { name: "150 KB and 50 KB", exact: true });
    const [lab] = await Promise.all([page.context().waitForEvent("page"), link.click()]);
    await lab.waitForSelector("#metrics", { timeout: 120_000 });
    assert.match(decodeURIComponent(lab.url()), /lab\.html#lesson=3&.*sample_base=50 KB$/);
    assert.deepEqual(page.faults, []);
    await page.context().close();
  }
});
