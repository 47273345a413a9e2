// Reports in a real browser: they open from disk without a network, and zoom together.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { ROOT, open, shot, skip, start } from "./browser.mjs";

const PAUSED = "ig-4-culprits-1-victim-pause-1500kb-rtt5us";
let browser, folder;

function qcnlab(...words) {
  execFileSync(join(ROOT, ".venv", "bin", "python"), ["-m", "qcnlab", ...words], { cwd: folder, stdio: "pipe" });
}

before(async () => {
  if (skip) return;
  folder = mkdtempSync(join(tmpdir(), "qcnlab-"));
  qcnlab("run", PAUSED, "-s", "scheme.name=none", "-o", "paused");
  qcnlab("run", PAUSED, "-o", "controlled");
  qcnlab("report", "paused");
  qcnlab("report", "paused", "controlled", "-o", "both.html");
  qcnlab("sweep", "one-source-into-9g-rtt10us", "--vary", "topology.rtt=10us,40us", "-s", "duration=20ms", "-s", "warmup=1ms", "-o", "swept");
  qcnlab("report", "swept");
  browser = await start();
});

after(async () => {
  await browser?.close();
  if (folder) rmSync(folder, { recursive: true });
});

const shown = (page) => page.evaluate(() => document.documentElement.dataset.window.split(" ").map(Number));
/** How many pixels of a curve's canvas are not empty. */
const inked = (page, index) => page.evaluate((i) => {
  const canvas = document.querySelectorAll(".chart canvas")[i];
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let count = 0;
  for (let at = 3; at < data.length; at += 4) count += data[at] > 0;
  return count;
}, index);

test("a report opens from disk, draws, zooms and moves; nothing leaves the page", { skip }, async () => {
  const file = join(folder, "paused", "report.html");
  assert.ok(statSync(file).size < 3e6);
  const page = await open(browser, file);
  assert.deepEqual(await shown(page), [0, 1]);
  const curves = await page.locator(".chart canvas").count();
  assert.ok(curves >= 4, `${curves} curves`);
  for (let index = 0; index < curves; index++) assert.ok((await inked(page, index)) > 500, `curve ${index} is empty`);
  await shot(page, "report-wide");

  const over = page.locator(".u-over").first();
  await over.scrollIntoViewIfNeeded();
  const box = await over.boundingBox();
  const drag = async (from, to, key) => {
    if (key) await page.keyboard.down(key);
    await page.mouse.move(box.x + box.width * from, box.y + 40);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * to, box.y + 40, { steps: 8 });
    await page.mouse.up();
    if (key) await page.keyboard.up(key);
  };
  // From a quarter to a half of a run of 1 s.
  await drag(0.25, 0.5);
  let [from, until] = await shown(page);
  assert.ok(Math.abs(from - 0.25) < 0.01 && Math.abs(until - 0.5) < 0.01, `${from} to ${until}`);
  // Every curve shows that window.
  const starts = await page.evaluate(() => [...document.querySelectorAll(".u-legend .u-series:first-child")].length);
  assert.equal(starts, curves - 1, "all but the stopped links have a legend");
  // Half a window to the left is 0.125 s later.
  await drag(0.75, 0.25, "Shift");
  [from, until] = await shown(page);
  assert.ok(Math.abs(from - 0.375) < 0.01 && Math.abs(until - 0.625) < 0.01, `${from} to ${until}`);
  await page.locator('.tools [data-do="in"]').click();
  assert.ok(Math.abs((await shown(page))[1] - (await shown(page))[0] - 0.125) < 0.01);
  await page.locator(".plot").first().focus();
  await page.keyboard.press("0");
  assert.deepEqual(await shown(page), [0, 1]);
  await page.keyboard.press("+");
  await page.keyboard.press("ArrowRight");
  assert.deepEqual(await shown(page), [0.375, 0.875]);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("the congestion tree follows its slider", { skip }, async () => {
  const page = await open(browser, join(folder, "paused", "report.html"));
  const share = () => page.locator(".tree text.share").first().textContent();
  assert.match(await share(), /^\d+ %$/);
  // Nobody sends to the hot port in the first bin of time, so nothing is stopped.
  await page.locator(".tree input").fill("0");
  assert.equal(await share(), "");
  await page.locator(".tree input").fill("20");
  assert.match(await share(), /^\d+ %$/);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("pages fit a telephone, in the dark, and paper", { skip }, async () => {
  for (const [name, file] of [["report", "paused/report.html"], ["reports", "both.html"], ["sweep", "swept/report.html"]]) {
    const page = await open(browser, join(folder, file), { width: 390, scheme: "dark" });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 390, `${name} is ${wide} wide`);
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(23, 22, 18)");
    await shot(page, `${name}-narrow-dark`);
    const pdf = await page.pdf({ format: "A4" });
    assert.ok(pdf.length > 10_000);
    // In grey the lines of a figure differ in dashes or in width.
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    const marks = await page.evaluate(() => [...document.querySelectorAll(".u-legend")].map((legend) =>
      [...legend.querySelectorAll(".u-marker line")].map((line) => `${line.getAttribute("stroke-dasharray")} ${line.getAttribute("stroke-width")}`)));
    for (const legend of marks) assert.equal(new Set(legend).size, legend.length, legend.join(", "));
    if (name === "report") assert.ok(Math.max(...marks.map((legend) => legend.length)) >= 4, "many lines");
    assert.deepEqual(page.faults, []);
    await page.context().close();
  }
});

test("a comparison has its table and a curve for each run", { skip }, async () => {
  const page = await open(browser, join(folder, "both.html"));
  const legend = await page.locator("#chart0 .u-legend").innerText();
  assert.match(legend, /none/);
  assert.match(legend, /qcn_byte_counter/);
  assert.match(await page.locator("table").first().innerText(), /scheme\.name/);
  await shot(page, "reports-wide");
  assert.deepEqual(page.faults, []);
  await page.context().close();
});
