// Opens pages in Chromium, and checks what they draw and how they react: the reports of traced runs that pages.rs
// writes, and the pages that bench, compare, sim and predict write with --html.
//
//   node report.mjs PAGES
//
// PAGES is the folder with the pages. CHROMIUM names the browser if it is not /usr/bin/chromium. The output has a line
// for each check that fails, and a summary.
import { readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import puppeteer from "puppeteer-core";

const pages = resolve(process.argv[2]), axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox"] });
const PHONE = { width: 375, height: 780, deviceScaleFactor: 2, hasTouch: true, isMobile: true }, DESKTOP = { width: 1200, height: 900 };
const SIZE = 5e6, OPEN = 2000, TASK = 100; // limits of the largest page in bytes, and in ms

let passed = 0, failed = 0;
function check(name, good, seen = "") {
  if (good) { passed++; return; }
  failed++;
  console.log("FAILED", name, typeof seen === "string" ? seen : JSON.stringify(seen));
}
const sleep = ms => new Promise(done => setTimeout(done, ms));
const fileOf = name => `${pages}/${name}.html`;
const dataOf = name => JSON.parse(readFileSync(fileOf(name), "utf8").match(/id="data">([^<]*)</)[1]);

// ---------- Pages ----------
async function open(name, view = DESKTOP, scheme = "light") {
  const page = await browser.newPage();
  page.problems = [];
  page.on("console", message => ["error", "warn"].includes(message.type()) && page.problems.push(message.text()));
  page.on("pageerror", error => page.problems.push(error.message));
  page.on("request", request => !/^(file|data):/.test(request.url()) && page.problems.push("request " + request.url()));
  await page.setViewport(view);
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  const begin = performance.now();
  await page.goto("file://" + fileOf(name), { waitUntil: "load" });
  await drawn(page);
  page.opened = performance.now() - begin;
  await sleep(100);
  return page;
}
// Waits until all that is pending is drawn.
const settled = page => page.evaluate(() =>
  new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))));
const drawn = async page => { await settled(page); return page.evaluate(() => ({ ...window.report?.drawn })); };
const range = page => page.evaluate(() => [...window.report.range]);
const zoom = (page, from, to) => page.evaluate((from, to) => window.report.zoom(from, to), from, to);
const texts = (page, selector) => page.$$eval(selector, list => list.map(element => element.textContent));
const text = async (page, slot) => (await texts(page, `[data-slot=${slot}]`))[0];
const width = ([from, to]) => to - from;
const near = (a, b, tolerance = 1) => Math.abs(a - b) < tolerance;

// ---------- Each page in both colour schemes and on both screens ----------
const RESULTS = ["bench", "compare", "sim", "predict"];
for (const name of ["two", "names", "sixtyfour", "four", "big", "empty", "nopool", ...RESULTS])
  for (const scheme of ["light", "dark"])
    for (const [screen, view] of [["desktop", DESKTOP], ["phone", PHONE]]) {
      const page = await open(name, view, scheme), label = `${name}, ${scheme}, ${screen}:`;
      await page.evaluate(axe + ";0"); // as text, because the page's policy refuses scripts from elsewhere
      await page.evaluate(() => document.querySelectorAll("details:not(.long)").forEach(fold => { fold.open = true; }));
      await sleep(100);
      const found = await page.evaluate(async () => (await window.axe.run(document, { resultTypes: ["violations"] })).violations
        .map(violation => violation.id + ": " + violation.nodes[0].html.slice(0, 120)));
      check(label + " axe finds nothing with all parts open", found.length === 0, found);
      check(label + " no error, no request", page.problems.length === 0, page.problems);
      check(label + " the page does not scroll sideways", await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
        await page.evaluate(() => document.documentElement.scrollWidth));
      await page.close();
    }

// ---------- The pages of bench, compare, sim and predict ----------
for (const name of RESULTS) {
  for (const view of [DESKTOP, PHONE]) {
    const page = await open(name, view);
    check(`${name}: the result comes first`, (await texts(page, "main > *"))[1] === (await texts(page, ".verdict"))[0]
      && (await texts(page, ".verdict .title"))[0].endsWith("."), await texts(page, ".verdict"));
    check(`${name}: each chart has a description, a caption and a table`, await page.evaluate(() => {
      const figures = [...document.querySelectorAll("figure")];
      return figures.length > 0 && figures.every(figure => figure.querySelector("[role=img]").ariaLabel.length > 20
        && figure.querySelector("figcaption") && figure.closest("section").querySelector("tbody tr"));
    }));
    check(`${name}: the page needs no script`, (await page.$("script")) === null);
    check(`${name}: the command line`, (await texts(page, "footer code"))[0].startsWith(`purloin ${name} `), await texts(page, "footer code"));
    check(`${name}: the marks are inside their chart`, await page.evaluate(() =>
      [...document.querySelectorAll("figure")].every(figure => [...figure.querySelectorAll(".dot, .middle, .mark, .line, text")]
        .every(mark => mark.getBoundingClientRect().right <= innerWidth && mark.getBoundingClientRect().left >= 0))));
    check(`${name}: no label of an axis covers another`, await page.evaluate(() => [...document.querySelectorAll("figure svg")].every(chart => {
      const boxes = [...chart.querySelectorAll("text")].map(label => label.getBoundingClientRect());
      const cover = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
      return boxes.every((a, i) => boxes.slice(i + 1).every(b => !cover(a, b)));
    })));
    await page.close();
  }
}

// ---------- What the reports of traced runs show ----------
{
  const page = await open("two"), seen = await drawn(page), { pools: [pool], threads } = dataOf("two");
  const bars = pool.tracks.flatMap(track => track.intervals).length / 3;
  check("two: 200 steals are 200 arcs", pool.steals_total === 200 && seen.arcs === 200, seen);
  check("two: bars", seen.intervals > 150 && seen.intervals <= bars, [seen, bars]);
  check("two: spans", seen.spans > 40, seen);
  await zoom(page, 22000, 24000);
  const inside = (begin, length) => begin < 24000 && begin + length > 22000;
  const entries = (list, size) => list.filter((begin, i) => i % size === 0 && inside(begin, list[i + 1])).length;
  const few = await drawn(page), spans = [...pool.tracks, ...threads].flatMap(track => track.spans);
  const steals = pool.steals.filter((end, i) => i % 7 === 0 && end >= 22000 && end - pool.steals[i + 3] <= 24000).length;
  check("two: zoomed in, each span is a box", few.spans === entries(spans, 4), [few, entries(spans, 4)]);
  check("two: zoomed in, each steal in view is an arc", steals > 0 && few.arcs === steals, [few, steals]);
  check("two: verdict", /^For \d+ % of the time, only one worker ran/.test(await text(page, "verdict")), await text(page, "verdict"));
  check("two: the verdict names the span", (await text(page, "verdictDetails")).includes('on worker 0, in the span "parse"'));
  check("two: six key figures", (await texts(page, ".figures dd")).length === 6);
  check("two: the rows are those of the trace", String(await texts(page, "[data-slot=shareTable] th[scope=row]"))
    === "all workers,worker 0,worker 1", await texts(page, "[data-slot=shareTable] th[scope=row]"));
  check("two: the table of spans has all names", String((await texts(page, "[data-slot=spans] th[scope=row]")).sort())
    === "merge,parse,read input,search,sort keys,subtree,whole program", await texts(page, "[data-slot=spans] th[scope=row]"));
  check("two: each picture has a table and a caption", await page.evaluate(() =>
    [...document.querySelectorAll("figure")].every(figure => figure.querySelector("details") && figure.querySelector("figcaption"))));
  check("two: no slot is empty", await page.evaluate(() =>
    [...document.querySelectorAll("[data-slot]")].every(slot => slot.childNodes.length || slot.tagName === "CANVAS")));
  check("two: wake-ups", (await text(page, "delaysText")).includes("the slowest took"));
  check("two: no chart of what was not measured", (await page.$("[data-slot=speedupPicture], [data-slot=pathTable]")) === null);
  check("two: the trace is whole", (await text(page, "held")) === "The trace holds the whole run.");
  await page.close();
}
{
  const page = await open("names"), { program, names } = dataOf("names");
  check("names: title", (await page.title()) === `${program} – Purloin report`, await page.title());
  check("names: program", (await text(page, "program")) === program);
  const rows = await texts(page, "[data-slot=spans] th[scope=row]");
  check("names: each span has its name", names.length === 7 && names.every(name => rows.includes(name)), rows);
  check("names: three predicted points", (await page.$$("[data-slot=speedupPicture] .predicted")).length === 3);
  check("names: two measured points", (await page.$$("[data-slot=speedupPicture] .measured")).length === 2);
  const places = await texts(page, "[data-slot=pathTable] th[scope=row]"), shares = await texts(page, "[data-slot=pathTable] td:nth-child(2)");
  check("names: each place of the longest chain is a row, below the place around it",
    places.length === 4 && places[0] === "the program" && places[1].startsWith("</script>") && places[2].includes("main.rs:7"), places);
  check("names: a place has the time of the places within", String(shares) === "100%,81.7%,15.0%,1.7%", shares);
  await page.close();
}
{
  const page = await open("sixtyfour"), status = await text(page, "status");
  check("sixtyfour: arcs are capped", /^\d+ of [\d,]+ steals in view are drawn/.test(status), status);
  check("sixtyfour: spans need taller lanes", (await drawn(page)).spans === 0, await drawn(page));
  await page.click("[data-slot=tall] input");
  check("sixtyfour: taller lanes show spans", (await drawn(page)).spans > 0, await drawn(page));
  check("sixtyfour: a cell for each thief and victim",
    (await page.$eval("[data-slot=matrixPicture]", picture => picture.innerHTML.match(/M[\d.]+ [\d.]+h/g).length)) === 64 * 64);
  check("sixtyfour: says what is lost", /^The trace holds \d\d\.\d% of the run. It lost \d+ events/.test(await text(page, "held")), await text(page, "held"));
  await page.close();
}
{
  const page = await open("four");
  check("four: the largest pool is first", (await texts(page, "main h2"))[0] === "pool 3", await texts(page, "h2"));
  check("four: the others are folded", (await page.$$("details.pool:not([open])")).length === 3);
  await page.click("[data-slot=shareTable] summary");
  await settled(page);
  const workers = await texts(page, "[data-slot=shareTable] th[scope=row]");
  check("four: the spare worker is a row", workers.length === 10 && workers[9] === "spare worker 8", workers);
  await page.evaluate(() => { document.querySelector("details.pool").open = true; });
  await sleep(200);
  check("four: a folded pool draws when it opens", await page.evaluate(() =>
    document.querySelector("details.pool canvas").width > 600 && document.querySelector("details.pool .picture svg") !== null));
  await page.close();
}
{
  const page = await open("big"), status = await text(page, "status"), seen = await drawn(page);
  check("big: arcs are capped", seen.arcs > 0 && seen.arcs < 400, seen);
  check("big: says how many steals are missing", /of [\d,]+ steals in view are drawn.*Zoom in.*of 1,000,000 steals/.test(status), status);
  await zoom(page, 3e6, 3.02e6);
  check("big: zoomed in, all listed steals are arcs", (await text(page, "status")).startsWith("All"), await text(page, "status"));
  check("big: says what is merged", /merges intervals.*Of the [\d]+ spans/.test(await text(page, "notes")), await text(page, "notes"));
  check("big: no heat map above 64 workers", (await page.$("[data-slot=matrix]")) === null);
  await page.close();
}
{
  let page = await open("empty");
  check("empty: verdict", (await text(page, "verdict")).startsWith("No worker ran anything."));
  check("empty: says so", await page.evaluate(() => document.body.innerText.includes("No worker of this pool ran a task")));
  check("empty: no timeline", (await page.$("canvas")) === null);
  await page.close();
  page = await open("nopool");
  check("nopool: says so", await page.evaluate(() => document.body.innerText.includes("The trace holds no pool")));
  check("nopool: spans outside of pools", (await texts(page, "[data-slot=spans] th[scope=row]")).includes("whole program"));
  await page.close();
}

// ---------- Zoom and details, by keys, buttons, mouse and finger ----------
{
  const page = await open("two"), canvas = await page.$("canvas"), whole = await range(page), { keyboard, mouse } = page;
  const details = () => text(page, "details");
  const isHalf = range => near(width(range) / width(whole), 0.5, 0.01), isWhole = range => near(width(range), width(whole));
  const drag = async (from, to) => {
    await mouse.move(area.x + from, area.y + 100); await mouse.down();
    await mouse.move(area.x + to, area.y + 100, { steps: 4 }); await mouse.up();
  };
  await page.evaluate(() => document.querySelector("canvas").scrollIntoView({ block: "center" }));
  const area = await canvas.boundingBox();
  await mouse.move(area.x + 600, area.y + 100); await mouse.wheel({ deltaY: -100 }); await sleep(150);
  check("a wheel without focus leaves the range alone", isWhole(await range(page)));
  await page.evaluate(() => document.querySelector("canvas").scrollIntoView({ block: "center" }));
  await canvas.focus();
  await keyboard.press("+"); check("key + zooms in", isHalf(await range(page)));
  const before = await range(page);
  await keyboard.press("ArrowRight"); check("key → moves later", (await range(page))[0] > before[0]);
  await keyboard.press("ArrowLeft"); check("key ← moves back", near((await range(page))[0], before[0]));
  await keyboard.press("-"); check("key − zooms out", isWhole(await range(page)));
  await keyboard.press("+"); await keyboard.press("Home"); check("Home shows the whole run", isWhole(await range(page)));
  await keyboard.press("ArrowDown"); check("↓ chooses a span", /^worker 0, span “.*”: from .* long/.test(await details()), await details());
  for (let i = 0; i < 3; i++) await keyboard.press("ArrowDown");
  const bar = await details(); check("↓ reaches the bars", /^worker 0, (?!span).*: from/.test(bar), bar);
  await keyboard.press("n"); check("N chooses the next bar", (await details()) !== bar && /^worker 0/.test(await details()), await details());
  await keyboard.press("p"); check("P chooses the bar before", (await details()) === bar, await details());
  await keyboard.press("s"); check("S chooses a steal", /took a task of depth .* The steal took/.test(await details()), await details());
  await keyboard.press("Escape"); check("Escape chooses nothing", /^Point at/.test(await details()), await details());
  let last = await range(page);
  const isIn = { "Zoom in": isHalf, Later: range => range[0] > last[0], Earlier: range => range[0] < last[0], "Zoom out": isWhole, "Whole run": isWhole };
  for (const label of ["Zoom in", "Later", "Earlier", "Zoom out", "Zoom in", "Whole run"]) {
    await page.evaluate(label => [...document.querySelectorAll("button")].find(button => button.textContent === label).click(), label);
    const now = await range(page);
    check(`button “${label}”`, isIn[label](now), now);
    last = now;
  }
  await drag(400, 500); last = await range(page);
  check("a drag zooms to its range", near(width(last) / width(whole), 100 / (area.width - 84), 0.01), last);
  await keyboard.down("Shift"); await drag(600, 500); await keyboard.up("Shift");
  check("Shift and a drag move the range", (await range(page))[0] > last[0] && near(width(await range(page)), width(last)), await range(page));
  await keyboard.press("Home"); await canvas.focus();
  await mouse.move(area.x + 600, area.y + 100); await mouse.wheel({ deltaY: -200 }); await sleep(150);
  check("a wheel with focus zooms", isHalf(await range(page)), await range(page));
  await keyboard.press("Home"); await keyboard.press("Escape"); await settled(page);
  await mouse.move(area.x + 110, area.y + 110); await settled(page);
  check("pointing at a bar shows its details", /^worker 0, running: from/.test(await details()), await details());
  check("the ring of the focus is visible", await page.evaluate(() =>
    getComputedStyle(document.querySelector(".lanes:has(canvas:focus-visible)") || document.body).outlineStyle === "solid"));
  await zoom(page, 50000, 50000.01);
  check("zoom has a limit", width(await range(page)) >= 0.049 && page.problems.length === 0, [await range(page), page.problems]);
  await page.close();
}
{
  const page = await open("two", PHONE), canvas = await page.$("canvas"), { touchscreen } = page;
  await canvas.scrollIntoView();
  await zoom(page, 40000, 80000);
  const area = await canvas.boundingBox();
  await touchscreen.touchStart(area.x + 250, area.y + 90);
  for (let x = 240; x > 150; x -= 15) await touchscreen.touchMove(area.x + x, area.y + 90);
  await touchscreen.touchEnd();
  check("a finger moves the range", (await range(page))[0] > 40000 && near(width(await range(page)), 40000), await range(page));
  await page.close();
}

// ---------- The largest page: size, time to open, long tasks ----------
const megabytes = statSync(fileOf("big")).size / 1e6, figures = [`largest page ${megabytes.toFixed(2)} MB`];
check("big: size", megabytes <= SIZE / 1e6, `${megabytes} MB`);
for (const scheme of ["light", "dark"]) {
  const page = await open("big", { ...DESKTOP, deviceScaleFactor: 2 }, scheme), canvas = await page.$("canvas"), { mouse, keyboard } = page;
  check(`big, ${scheme}: opens in time`, page.opened < OPEN, `${page.opened} ms`);
  await canvas.scrollIntoView();
  await canvas.focus();
  await page.tracing.start({ categories: ["toplevel", "devtools.timeline"] });
  const area = await canvas.boundingBox();
  await mouse.move(area.x + 500, area.y + 200);
  for (let i = 0; i < 24; i++) { await mouse.wheel({ deltaY: i < 12 ? -100 : 100 }); await sleep(16); }
  for (let i = 0; i < 20; i++) { await keyboard.press(i < 10 ? "+" : "-"); await keyboard.press("ArrowRight"); }
  await keyboard.press("Home");
  for (let i = 0; i < 30; i++) { await page.evaluate(y => { document.querySelector(".lanes").scrollTop = y; }, i * 30); await sleep(16); }
  for (let i = 0; i < 20; i++) { await mouse.move(area.x + 100 + i * 40, area.y + 100 + i * 10); await sleep(10); }
  await canvas.evaluate(element => element.blur());
  for (let i = 0; i < 20; i++) { await mouse.wheel({ deltaY: 200 }); await sleep(16); }
  await sleep(200);
  // Other programs may use this machine at the same time, so the limit is for processor time (`tdur`).
  const { traceEvents: events } = JSON.parse(new TextDecoder().decode(await page.tracing.stop()));
  const thread = event => event.pid + ":" + event.tid;
  const main = new Set(events.filter(event => event.name === "thread_name" && event.args.name === "CrRendererMain").map(thread));
  const tasks = events.filter(event => event.ph === "X" && /RunTask$/.test(event.name) && main.has(thread(event)));
  const longest = tasks.reduce((most, task) => Math.max(most, task.tdur / 1000), 0);
  check(`big, ${scheme}: no long task`, tasks.length > 100 && longest < TASK, `${tasks.length} tasks, longest ${longest} ms`);
  figures.push(`${scheme}: open ${(page.opened / 1000).toFixed(2)} s, longest task ${longest.toFixed(0)} ms`);
  await page.close();
}

// ---------- Paper ----------
for (const name of ["two", "four", "big"]) {
  const page = await open(name, DESKTOP, "dark");
  await page.evaluate(() => window.addEventListener("beforeprint", () => {
    const all = selector => [...document.querySelectorAll(selector)];
    const inked = canvas => {
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      return data.filter((value, i) => i % 400 === 3 && value > 0).length > 100;
    };
    window.seen = { folded: all("details:not(.long):not([open])").length, blank: all(".picture:not(:has(svg path))").length,
      empty: all("canvas").filter(canvas => !inked(canvas)).length,
      cut: all(".lanes").filter(lanes => lanes.offsetHeight < lanes.querySelector("canvas").offsetHeight).length,
      paper: getComputedStyle(document.documentElement).getPropertyValue("--paper").trim() };
  }));
  await page.pdf({ format: "A4", printBackground: true });
  const seen = await page.evaluate(() => window.seen), wanted = { folded: 0, blank: 0, empty: 0, cut: 0, paper: "#fdfdfb" };
  check(`${name}: paper shows all parts in light colours`, JSON.stringify(seen) === JSON.stringify(wanted), seen);
  await sleep(200);
  check(`${name}: the page is as before afterwards`, await page.evaluate(() =>
    !document.documentElement.hasAttribute("data-print") && document.querySelectorAll("details.pool[open]").length === 0));
  await page.close();
}

// ---------- A browser without scripts, and data that cannot be read ----------
{
  let page = await browser.newPage();
  await page.setJavaScriptEnabled(false);
  await page.goto("file://" + fileOf("two"));
  check("without scripts: the page says so", (await page.$eval("body", body => body.innerText)).includes("needs JavaScript"));
  await page.close();
  page = await browser.newPage();
  await page.setContent(readFileSync(fileOf("two"), "utf8").replace(/(id="data">)[^<]*/, "$1{broken"));
  await sleep(200);
  check("broken data: the page says so", await page.evaluate(() => document.body.innerText.includes("cannot show its data")));
  await page.close();
}
await browser.close();
console.log(`report: ${passed} checks passed, ${failed} failed; ${figures.join("; ")}`);
process.exit(failed ? 1 : 0);
