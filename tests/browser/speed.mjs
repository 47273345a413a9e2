// How fast the laboratory is: W1 in Chromium beside native, and frames a second. `make bench-lab` runs it and writes the page.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ROOT, open, skip, start } from "./browser.mjs";

const TURNS = 7;
const DURATION = "duration=5 s";
const NAME = "w1-10-senders-cbr";
if (skip) {
  console.error(`skipped: ${skip}`);
  process.exit(0);
}
const folder = mkdtempSync(join(tmpdir(), "qcnlab-"));
const browser = await start();
const page = await open(browser, join(ROOT, "python", "qcnlab", "lab.html"));
await page.waitForSelector("#metrics", { timeout: 120_000 });
const text = readFileSync(join(ROOT, "scenarios", "workloads", `${NAME}.toml`), "utf8");
const through = () =>
  page.evaluate(([text, set]) => qcnlab.ask("through", { asked: { text, name: "w1.toml", set: [set] } }).then(({ ms }) => ms), [text, DURATION]);
const native = (run) => {
  execFileSync(join(ROOT, ".venv", "bin", "python"), ["-m", "qcnlab", "run", NAME, "-s", DURATION, "-o", run], { cwd: folder, stdio: "pipe" });
  return 1000 * JSON.parse(readFileSync(join(folder, run, "meta.json"), "utf8")).wall_s;
};
// In turn, so that what else the machine does slows both; the least time of each is what it slowed least.
const pairs = [];
for (let turn = 0; turn < TURNS; turn++) pairs.push([await through(), native(`run${turn}`)]);
await page.context().close();

// Frames while runs go on: what the browser's clock of 60 Hz gives, and how many the page misses.
const HOTSPOT = "scenario=og-hotspot-2src-10g-to-500m-rtt200us&run=qcn&run=ecm";
const VIEWS = [
  ["two schemes, a fiftieth of real time", `${HOTSPOT}&pace=0.02`, { width: 1200, height: 900 }],
  ["two schemes, a tenth of real time", `${HOTSPOT}&pace=0.1`, { width: 1920, height: 1080 }],
  ["three schemes, as fast as they go", `${HOTSPOT}&run=dcqcn&set=duration=100 s`, { width: 1200, height: 900 }],
];
const SECONDS = 8;
async function frames(query, viewport) {
  const context = await browser.newContext({ viewport, offline: true });
  const page = await context.newPage();
  await page.goto(`${pathToFileURL(join(ROOT, "python", "qcnlab", "lab.html")).href}#${query}`);
  await page.waitForFunction(() => document.querySelectorAll("figure canvas").length === 4);
  const times = await page.evaluate((seconds) => new Promise((resolve) => {
    const times = [];
    const step = (now) => (times.push(now), now - times[0] < 1000 * seconds ? requestAnimationFrame(step) : resolve(times));
    requestAnimationFrame(step);
  }), SECONDS);
  // Metrics appear when the runs have ended.
  if (await page.$("#metrics")) throw new Error(`the runs of ${query} ended before ${SECONDS} s had passed`);
  await context.close();
  const gaps = times.slice(1).map((time, at) => time - times[at]);
  const missed = gaps.map((gap) => Math.max(0, Math.round((60 * gap) / 1000) - 1)).reduce((sum, more) => sum + more, 0);
  return { rate: (1000 * gaps.length) / (times.at(-1) - times[0]), count: gaps.length, missed };
}
const seen = [];
for (const [what, query, viewport] of VIEWS) seen.push({ what, viewport, ...(await frames(query, viewport)) });
const version = browser.version();
await browser.close();
rmSync(folder, { recursive: true });

const [here, there] = [0, 1].map((side) => Math.min(...pairs.map((pair) => pair[side])));
const share = there / here;
const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { cwd: ROOT }).toString().trim();
const words = `W1 for 5 s: ${here.toFixed(0)} ms in the page, ${there.toFixed(0)} ms native; the page has ${(100 * share).toFixed(0)} % of the native speed`;
console.log(`${words} (the least of ${TURNS} turns each)`);
seen.forEach(({ what, rate, missed }) => console.log(`${what}: ${rate.toFixed(1)} frames a second, ${missed} missed`));
const paragraphs = [
  "# The laboratory's speed",
  "`make bench-lab` writes this page. It runs W1 (ten constant senders, 10 Gb/s) for 5 s of simulated time in the laboratory,\n" +
    `in Chromium, and with \`qcnlab run\`, ${TURNS} times in turn, and takes the least wall time of each. No test asserts it.\n` +
    "Then it counts for " + SECONDS + " s how often the browser lets the page draw while runs go on; its clock has 60 Hz.\n" +
    "What drawing costs, `make test-browser` asserts in processor time of the page's thread: less than a sixtieth of a second for a frame.",
  `Measured on ${new Date().toISOString().slice(0, 10)} at commit ${commit}; Chromium ${version}, ${cpus().length} CPUs (${cpus()[0].model.trim()}).`,
  ["| | W1 for 5 s, wall time | share of native |", "|---|---|---|", `| Chromium | ${here.toFixed(0)} ms | ${(100 * share).toFixed(0)} % |`, `| native | ${there.toFixed(0)} ms | 100 % |`].join("\n"),
  [
    "| while running | window | frames a second | frames | missed |",
    "|---|---|---|---|---|",
    ...seen.map(({ what, viewport, rate, count, missed }) => `| ${what} | ${viewport.width} x ${viewport.height} | ${rate.toFixed(1)} | ${count} | ${missed} |`),
  ].join("\n"),
];
writeFileSync(join(ROOT, "docs", "reference", "lab-speed.md"), `${paragraphs.join("\n\n")}\n`);
