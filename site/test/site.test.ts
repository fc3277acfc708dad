/**
 * `npm run test:site` builds the site, and reads it in a real browser as a person would. Without a browser the exit code is 3.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { files, placeOf } from "../pages.ts";

const here = join(import.meta.dirname, "..");
const chromium = (process.env["PATH"] ?? "")
  .split(":")
  .flatMap((folder) => ["chromium", "chromium-browser", "google-chrome"].map((name) => join(folder, name)))
  .find((path) => existsSync(path));

if (chromium === undefined) {
  console.error("test:site: nothing run: there is no Chromium in PATH (apt-get install chromium)");
  process.exit(3);
}
walk(chromium);

function walk(executablePath: string): void {
  /** Five kinds of page: home, a start, a page with pictures, one of wide tables, one of code. */
  const looked = [
    "index.html",
    "start/node.html",
    "understand/how-it-works.html",
    "reference/options.html",
    "rules/no-lame-duck.html",
  ];
  const phone = { width: 360, height: 740 };
  let browser: Browser;
  let address = "";
  let stop = async (): Promise<void> => {};

  before(async () => {
    const build = spawnSync(process.execPath, [join(here, "main.ts")], { encoding: "utf8" });
    assert.equal(build.status, 0, build.stdout + build.stderr);
    const { show } = await import("../show.ts");
    ({ address, stop } = await show(0));
    const playwright = await import("playwright-core");
    browser = await playwright.chromium.launch({ executablePath, args: ["--no-sandbox"] });
  });
  after(async () => {
    await browser?.close();
    await stop();
  });

  /** A page whose scripts have taken it over: without them there is no search and no choice of colours. */
  async function open(place: string, options: Parameters<Browser["newPage"]>[0] = {}): Promise<Page> {
    const page = await browser.newPage(options);
    await page.goto(address + place);
    await page.locator("#app").and(page.locator(":has(.VPNavBar)")).waitFor();
    await page.waitForFunction(() => "__vue_app__" in document.querySelector("#app")!);
    return page;
  }

  test("each page answers, says nothing to the console, and leads only to pages and headings that are there", async () => {
    const places = files.map((file) => placeOf(file).replace(/md$/, "html"));
    assert.ok(
      places.length > 60 && places.every((place) => existsSync(join(here, ".vitepress/dist", place))),
    );
    const page = await browser.newPage({ viewport: phone });
    const complaints: string[] = [];
    page.on("console", (message) => {
      if (message.type() === "error") complaints.push(`${page.url()}: ${message.text()}`);
    });
    page.on("pageerror", (error) => complaints.push(`${page.url()}: ${error.message}`));
    const headings = new Map<string, Set<string>>();
    const links: { from: string; to: URL }[] = [];
    for (const place of places) {
      const answer = await page.goto(address + place);
      assert.equal(answer?.status(), 200, place);
      await page.waitForFunction(() => "__vue_app__" in document.querySelector("#app")!);
      const found = await page.evaluate(() => ({
        ids: [...document.querySelectorAll("[id]")].map(({ id }) => id),
        links: [...document.querySelectorAll("a[href]")].map((link) => (link as HTMLAnchorElement).href),
        broken: [...document.images].filter((image) => image.complete && image.naturalWidth === 0).length,
        tooWide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
        heading: document.querySelector("main h1")?.textContent ?? "",
      }));
      assert.equal(found.broken, 0, `${place}: a picture is missing`);
      if (found.tooWide) complaints.push(`${place}: it scrolls sideways on a phone`);
      assert.notEqual(found.heading, "", `${place}: there is no heading`);
      headings.set(place, new Set(found.ids));
      links.push(...found.links.map((to) => ({ from: place, to: new URL(to) })));
    }
    await page.close();
    assert.deepEqual(complaints, []);
    const here_ = links.filter(({ to }) => to.href.startsWith(address));
    const dead = here_.filter(({ to }) => {
      const path = decodeURI(to.pathname.slice(1)).replace(/^$|\/$/, "$&index.html");
      const anchor = decodeURIComponent(to.hash.slice(1));
      if (!existsSync(join(here, ".vitepress/dist", path))) return true;
      return anchor !== "" && headings.get(path)?.has(anchor) === false;
    });
    assert.ok(here_.length > 1_000);
    assert.deepEqual([...new Set(dead.map(({ from, to }) => `${from} -> ${to.pathname}${to.hash}`))], []);
    assert.equal(
      links.find(({ to }) => to.hostname.endsWith(".example")),
      undefined,
    );
  });

  test("the search finds a word of the pages", async () => {
    const page = await open("index.html");
    await page.getByRole("button", { name: "Search" }).first().click();
    const box = page.getByRole("searchbox");
    await box.fill("PodDisruptionBudget");
    const results = page.locator(".VPLocalSearchBox .results a");
    await results.first().waitFor();
    assert.match(String(await results.first().getAttribute("href")), /html/);
    await page.close();
  });

  test("the search knows the pages for users, and not those for contributors", () => {
    const [index = ""] = globSync(join(here, ".vitepress/dist/assets/chunks/@localSearchIndex*.js"));
    const text = readFileSync(index, "utf8");
    assert.match(text, /\/tools\/lab\.html/);
    assert.doesNotMatch(text, /"\/contributing\//);
  });

  test("the colours follow the system, and the reader's choice", async () => {
    for (const colorScheme of ["light", "dark"] as const) {
      const page = await open("index.html", { colorScheme });
      const isDark = (): Promise<boolean> =>
        page.evaluate(() => document.documentElement.classList.contains("dark"));
      assert.equal(await isDark(), colorScheme === "dark");
      await page.locator(".VPNavBar .VPSwitchAppearance").first().click();
      assert.equal(await isDark(), colorScheme !== "dark");
      await page.close();
    }
  });

  test("on paper a page is light, has no menus, and no code is cut off", async () => {
    const page = await open("operate/gitops-and-ci.html", { colorScheme: "dark" });
    const isDark = (event: string): Promise<boolean> =>
      page.evaluate((name) => {
        dispatchEvent(new Event(name));
        return document.documentElement.classList.contains("dark");
      }, event);
    assert.deepEqual([await isDark("beforeprint"), await isDark("afterprint")], [false, true]);
    await page.setViewportSize({ width: 718, height: 1_000 });
    await page.emulateMedia({ media: "print" });
    const seen = await page.evaluate(() => ({
      menus: [...document.querySelectorAll("nav, header")].filter((one) => one.getClientRects().length > 0)
        .length,
      cut: [...document.querySelectorAll("pre")]
        .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
        .map((one) => one.textContent),
    }));
    assert.deepEqual(seen, { menus: 0, cut: [] });
    await page.close();
  });

  for (const place of looked)
    test(`${place}: no barrier that axe knows, in light and dark, and no scrolling sideways on a phone`, async () => {
      const { default: AxeBuilder } = await import("@axe-core/playwright");
      for (const colorScheme of ["light", "dark"] as const)
        for (const viewport of [{ width: 1440, height: 900 }, phone]) {
          const context = await browser.newContext({ colorScheme, viewport });
          const page = await context.newPage();
          await page.goto(address + place);
          await page.waitForFunction(() => "__vue_app__" in document.querySelector("#app")!);
          const { violations } = await new AxeBuilder({ page }).analyze();
          assert.deepEqual(
            violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join("\n")}`),
            [],
            `${colorScheme}, ${viewport.width} px`,
          );
          const { wide, seen } = await page.evaluate(() => ({
            wide: document.documentElement.scrollWidth,
            seen: document.documentElement.clientWidth,
          }));
          assert.ok(wide <= seen, `${wide} px wide in ${seen} px`);
          await context.close();
        }
    });
}
