// What the tests of pages share: Debian's Chromium without a network, and pages that must not ask for one.
import { existsSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
export const SHOTS = join(ROOT, "target", "screenshots");
const CHROMIUM = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

/** Why there is no browser; false where there is one. */
export const skip = CHROMIUM && existsSync(CHROMIUM) ? false : "no Chromium: apt-get install chromium, or set CHROMIUM to one";

/** Start the browser. */
export async function start() {
  const { chromium } = await import("playwright-core");
  return chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
}

/**
 * Open a file without a network.
 *
 * `page.faults` collects what must not be: errors on the console, exceptions, requests that leave the page.
 */
export async function open(browser, file, { width = 1200, height = 900, scheme = "light" } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, offline: true });
  const page = await context.newPage();
  page.faults = [];
  page.on("console", (message) => { if (message.type() === "error") page.faults.push(`console: ${message.text()}`); });
  page.on("pageerror", (error) => page.faults.push(`exception: ${error.message}`));
  page.on("request", (request) => {
    if (!/^(file|data|blob):/.test(request.url())) page.faults.push(`request: ${request.url()}`);
  });
  await page.goto(pathToFileURL(file).href);
  return page;
}

/** Keep a picture of the whole page in target/screenshots. */
export async function shot(page, name) {
  mkdirSync(SHOTS, { recursive: true });
  await page.screenshot({ path: join(SHOTS, `${name}.png`), fullPage: true });
}
