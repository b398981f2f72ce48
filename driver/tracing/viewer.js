"use strict";
// Shows the records of a trace. Texts of programs only ever become text nodes.

// ---- records -------------------------------------------------------------------------------------------------------

const RECORDS = {
  program(trace, r) { trace.programs.push(newProgram(r.title)); },
  target(p, r) { p.target = r.text; },
  text(p, r) { p.texts.set(r.i, r.z); },
  place(p, r) { p.places[r.i] = r; },
  source(p, r) { p.sources.set(r.file, r.z); },
  calls(p, r) { p.calls.set(`<@${r.of}>`, r.places); },
  texts(p, r) { p.steps.push({ n: -1, name: "input", texts: r.texts, ms: 0 }); },
  begin(p, r) { p.running = r; },
  pass(p, r) { p.running = null; p.steps.push(r); },
  level(p, r) { p.running = null; p.levels[r.name] = Object.assign(p.levels[r.name] || {}, r.texts); },
  graph(p, r) { (p.graphs[r.name] = p.graphs[r.name] || {})[r.f] = r.z; },
  schedule(p, r) { p.schedule.push(r); },
  check(p, r) { p.checks.set(r.n, r); },
  profile(p, r) { p.profile = r; },
  error(p, r) { p.errors.push(r.message); },
  end(p) { p.ended = true; },
};

function newProgram(title) {
  return { title, texts: new Map(), places: [], sources: new Map(), calls: new Map(), steps: [], levels: {}, graphs: {},
    schedule: [], checks: new Map(), profile: null, errors: [], ended: false, running: null, closures: new Map() };
}

function readTrace() {
  const trace = { programs: [], cut: false };
  for (const element of document.querySelectorAll('script[type="application/json"]')) {
    let record;
    try { record = JSON.parse(element.textContent); } catch { trace.cut = true; continue; }
    const take = RECORDS[record.t];
    if (record.t === "program") take(trace, record);
    else if (take && trace.programs[record.p]) take(trace.programs[record.p], record);
  }
  trace.programs.forEach(replay);
  return trace;
}

async function unpack(z) {
  const bytes = Uint8Array.from(atob(z), c => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

async function textOf(p, id) {
  const known = p.texts.get(id);
  if (typeof known !== "string") return known || { s: "", p: [] };
  const text = await unpack(known);
  text.lines = text.s.split("\n");
  p.texts.set(id, text);
  return text;
}

// The passes in order, those of several parts as one, with each function's text before and after.
function replay(p) {
  const state = new Map(), byNumber = new Map();
  for (const step of p.steps) {
    const key = `${step.n} ${step.name}`;
    const pass = byNumber.get(key) || { n: step.n, name: step.name, ms: 0, changes: [] };
    byNumber.set(key, pass);
    pass.ms += step.ms;
    const removed = Object.keys(step.texts).filter(f => step.texts[f] === null);
    for (const [f, after] of Object.entries(step.texts)) {
      if (after === null) continue;
      const old = plain(f) !== f && removed.includes(plain(f)) ? plain(f) : f;
      pass.changes.push({ f, before: state.has(old) ? state.get(old) : null, after });
      if (old !== f) { removed.splice(removed.indexOf(old), 1); state.delete(old); }
      state.set(f, after);
    }
    for (const f of removed) { pass.changes.push({ f, before: state.get(f) ?? null, after: null }); state.delete(f); }
  }
  p.passes = [...byNumber.values()].sort((a, b) => a.n - b.n);
  const rank = c => c.before == null ? 1 : c.after == null ? 2 : 0;
  p.passes.forEach(pass => pass.changes.sort((a, b) => rank(a) - rank(b)));
  p.last = Object.fromEntries(state);
}

const plain = name => name.replace(/^kernel\./, "");
const family = name => plain(name).replace(/(_parallel_\d+)?(_body)?$/, "");

// ---- places --------------------------------------------------------------------------------------------------------

// A place and all that it comes from: the lines of a function that the compiler wrote come from the calls of it.
function closure(p, place) {
  let all = p.closures.get(place);
  if (!all) {
    all = new Set([place]);
    p.closures.set(place, all);
    for (const above of p.calls.get(p.places[place]?.file) || []) closure(p, above).forEach(x => all.add(x));
  }
  return all;
}

const listed = places => places == null ? [] : Array.isArray(places) ? places : [places];

function isRelated(p, chosen, above, places) {
  return listed(places).some(x => above.has(x) || chosen.some(c => closure(p, x).has(c)));
}

// ---- elements ------------------------------------------------------------------------------------------------------

function make(tag, options = {}, ...inside) {
  const element = document.createElement(tag);
  const { on, data, ...rest } = options;
  Object.assign(element, rest);
  for (const [event, f] of Object.entries(on || {})) element.addEventListener(event, f);
  Object.assign(element.dataset, data || {});
  element.append(...inside.filter(x => x != null));
  return element;
}

function svg(tag, attributes, ...inside) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...inside);
  return element;
}

function chooser(names, chosen, onChange, label) {
  const options = names.map(n => make("option", { value: n, textContent: n, selected: n === chosen }));
  return make("select", { title: label || "", ariaLabel: label || "", on: { change: e => onChange(e.target.value) } }, ...options);
}

const TOKENS = new RegExp([
  String.raw`(?<c>^\s*#.*|;.*$)`, String.raw`(?<s>"(?:[^"\\]|\\.)*")`,
  String.raw`(?<k>\b(?:def|class|with|for|in|if|else|while|return|define|declare|ret|br|call|func|module|scf\.\w+|tir\.\w+|relax\.\w+)\b)`,
  String.raw`(?<m>[%@][\w.$-]+)`, String.raw`(?<n>\b\d[\w.]*\b)`].join("|"), "g");

function colour(text, into) {
  let at = 0;
  for (const match of text.length < 400 ? text.matchAll(TOKENS) : []) {
    const kind = Object.keys(match.groups).find(k => match.groups[k] !== undefined);
    into.append(text.slice(at, match.index), make("span", { className: kind, textContent: match[0] }));
    at = match.index + match[0].length;
  }
  into.append(text.slice(at));
}

const MANY = 6000;

function codeRow(number, text, className = "", plainText = false) {
  const row = make("div", { className: `row ${className}` }, make("span", { className: "no", textContent: number ?? "" }));
  const code = make("span");
  if (plainText) code.textContent = text; else colour(text, code);
  row.append(code);
  return row;
}

const time = seconds => seconds >= 1 ? `${seconds.toFixed(2)} s` : seconds >= 1e-3 ? `${(seconds * 1e3).toFixed(2)} ms` : `${(seconds * 1e6).toFixed(1)} µs`;
const percent = part => part == null ? "" : `${(100 * part).toFixed(1)} %`;
const short = x => x == null ? "" : x >= 1e9 ? `${(x / 1e9).toFixed(2)} G` : x >= 1e6 ? `${(x / 1e6).toFixed(2)} M` : x >= 1e3 ? `${(x / 1e3).toFixed(1)} k` : String(x);

// ---- passes --------------------------------------------------------------------------------------------------------

// The shortest edit from a to b (Myers), as [kind, line of a, line of b]; beyond a bound all of it is replaced.
function diffLines(a, b) {
  let head = 0, tail = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const x = a.slice(head, a.length - tail), y = b.slice(head, b.length - tail);
  const middle = myers(x, y).map(([kind, i, j]) => [kind, i + head, j + head]);
  const same = (from, count, toA, toB) => Array.from({ length: count }, (_, i) => ["same", toA + i, toB + i]);
  return [...same(0, head, 0, 0), ...middle, ...same(0, tail, a.length - tail, b.length - tail)];
}

function myers(a, b) {
  const most = 1200, n = a.length, m = b.length, trail = [];
  let reach = new Map([[1, 0]]);
  for (let d = 0; d <= Math.min(n + m, most); d++) {
    trail.push(new Map(reach));
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && reach.get(k - 1) < reach.get(k + 1));
      let x = down ? reach.get(k + 1) : reach.get(k - 1) + 1, y = x - k;
      while (x < n && y < m && a[x] === b[y]) { x++; y++; }
      reach.set(k, x);
      if (x >= n && y >= m) return walkBack(trail, n, m);
    }
  }
  return [...a.map((_, i) => ["removed", i, 0]), ...b.map((_, j) => ["added", 0, j])];
}

function walkBack(trail, n, m) {
  const edits = [];
  let x = n, y = m;
  for (let d = trail.length - 1; d >= 0; d--) {
    const reach = trail[d], k = x - y;
    const down = k === -d || (k !== d && reach.get(k - 1) < reach.get(k + 1));
    const fromK = down ? k + 1 : k - 1, fromX = reach.get(fromK), fromY = fromX - fromK;
    while (x > fromX && y > fromY && x > 0 && y > 0) edits.push(["same", --x, --y]);
    if (d > 0) edits.push(down ? ["added", x, --y] : ["removed", --x, y]);
  }
  return edits.reverse();
}

const AROUND = 4;

// Rows of both sides: runs of removed and added lines stand beside each other, long runs that stay are folded.
function diffRows(edits) {
  const rows = [];
  let removed = [], added = [];
  const flush = () => {
    for (let i = 0; i < Math.max(removed.length, added.length); i++) rows.push({ a: removed[i], b: added[i], changed: true });
    removed = []; added = [];
  };
  for (const [kind, i, j] of edits) {
    if (kind === "same") { flush(); rows.push({ a: i, b: j, changed: false }); }
    else if (kind === "removed") removed.push(i);
    else added.push(j);
  }
  flush();
  const near = new Uint8Array(rows.length);
  rows.forEach((row, i) => { if (row.changed) near.fill(1, Math.max(0, i - AROUND), i + AROUND + 1); });
  return { rows, near };
}

async function showDiff(p, change, into) {
  const [before, after] = await Promise.all([change.before, change.after].map(id => id == null ? { lines: [] } : textOf(p, id)));
  const { rows, near } = diffRows(diffLines(before.lines, after.lines));
  const left = make("div", { className: "code" }), right = make("div", { className: "code" });
  const put = i => {
    const { a, b, changed } = rows[i], simple = rows.length > MANY;
    left.append(a === undefined ? codeRow("", "", "fill") : codeRow(a + 1, before.lines[a], changed ? "removed" : "", simple));
    right.append(b === undefined ? codeRow("", "", "fill") : codeRow(b + 1, after.lines[b], changed ? "added" : "", simple));
  };
  const folded = rows.some(r => r.changed);
  for (let i = 0; i < rows.length; i++) {
    if (!folded || near[i]) { put(i); continue; }
    let end = i;
    while (end < rows.length && !near[end]) end++;
    for (const side of [left, right]) side.append(codeRow("", `⋯ ${end - i} lines as before`, "skip", true));
    i = end - 1;
  }
  left.addEventListener("scroll", () => { right.scrollTop = left.scrollTop; });
  right.addEventListener("scroll", () => { left.scrollTop = right.scrollTop; });
  const side = (name, code) => make("section", { className: "pane" }, make("h2", { textContent: name }), code);
  into.replaceChildren(make("div", { className: "panes two" }, side("before", left), side("after", right)));
}

function checkMark(check) {
  const marks = { same: ["✓", "good", "computes the same"], changed: ["✗", "bad", "computes something else"], unknown: ["·", "", "nothing was compared"] };
  const [sign, className, title] = marks[check.status] || marks.unknown;
  return make("span", { className, textContent: sign, title: `${title}${check.text ? `\n${check.text}` : ""}` });
}

function showPasses(p, main) {
  const side = make("div", { className: "side" }), wide = make("div", { className: "wide" });
  const onlyChanged = make("input", { type: "checkbox", checked: true, on: { change: () => list() } });
  const longest = Math.max(1e-9, ...p.passes.map(s => s.ms));
  const choose = pass => {
    side.querySelectorAll(".pass").forEach(b => b.classList.toggle("chosen", b.dataset.key === `${pass.n} ${pass.name}`));
    const body = make("div", { className: "wide" }), bar = make("div", { className: "bar" });
    const check = p.checks.get(pass.n);
    bar.append(make("b", { textContent: pass.n < 0 ? pass.name : `${pass.n + 1}. ${pass.name}` }));
    if (check) bar.append(checkMark(check), make("span", { className: "hint", textContent: check.text || "" }));
    for (const change of pass.changes) {
      bar.append(make("button", { className: "chip", textContent: change.f + (change.before == null ? " (new)" : change.after == null ? " (gone)" : ""), on: { click: e => {
        bar.querySelectorAll(".chip").forEach(c => c.classList.toggle("chosen", c === e.target));
        showDiff(p, change, body);
      } } }));
    }
    wide.replaceChildren(bar, body);
    if (pass.changes.length) bar.querySelector(".chip").click();
    else body.append(make("div", { className: "note", textContent: "This pass changed nothing." }));
  };
  const list = () => {
    const boxed = make("label", {}, onlyChanged, " changed ones only");
    const shown = p.passes.filter(s => s.changes.length || !onlyChanged.checked || p.checks.get(s.n)?.status === "changed");
    const rows = shown.map(pass => make("button", {
      className: `pass ${pass.changes.length ? "" : "still"}`, data: { key: `${pass.n} ${pass.name}` }, on: { click: () => choose(pass) },
      title: `${pass.ms.toFixed(2)} ms` },
      p.checks.has(pass.n) ? checkMark(p.checks.get(pass.n)) : null,
      make("span", { className: "what", textContent: pass.name }),
      make("span", { className: "took", textContent: pass.n < 0 ? "" : `${pass.ms.toFixed(1)} ms${pass.ms > longest / 3 ? " ◆" : ""}` })));
    if (p.running) rows.push(make("div", { className: "pass bad" }, make("span", { className: "what", textContent: `${p.running.name}: not over` })));
    side.replaceChildren(boxed, ...rows);
  };
  list();
  main.replaceChildren(side, wide);
  const first = (p.running || p.errors.length) && p.passes.findLast(s => s.changes.length) || p.passes.find(s => s.changes.length && s.n >= 0) || p.passes[0];
  if (first) choose(first);
}

// ---- levels --------------------------------------------------------------------------------------------------------

const LEVELS = [["relax", "Relax"], ["tir", "TIR"], ["scheduled", "scheduled TIR"], ["scf", "scf"], ["llvm", "LLVM"], ["assembly", "assembly"]];

function kernels(p) {
  const names = new Set();
  for (const level of ["tir", "scheduled", "scf", "llvm"]) Object.keys(p.levels[level] || {}).forEach(f => names.add(family(f)));
  if (!names.size) Object.keys(p.last).forEach(f => names.add(family(f)));
  const seconds = new Map((p.profile?.rows || []).map(r => [r.name, r.seconds]));
  const isEntry = name => name.startsWith("entry_");
  return [...names].sort((a, b) => isEntry(a) - isEntry(b) || (seconds.get(b) || 0) - (seconds.get(a) || 0) || a.localeCompare(b));
}

// The lines of one level for a kernel: of Relax all functions, of the others those that became of the kernel.
async function levelLines(p, level, kernel) {
  const texts = p.levels[level] || {};
  const lines = [];
  for (const [f, id] of Object.entries(texts)) {
    if (level === "relax" || family(f) === kernel) addLines(lines, f, await textOf(p, id));
  }
  if (!lines.length && level === "assembly") await addInlined(p, texts, kernel, lines);
  return lines;
}

function addLines(lines, f, text) {
  text.lines.forEach((line, i) => {
    const at = text.l ? text.l[i] : i, [owner, of] = Array.isArray(at) ? at : [f, at];
    lines.push({ line, number: i + 1, places: text.p[i], function: owner, of, head: i === 0 && lines.length > 0 });
  });
}

// The assembly of a kernel that LLVM has put into those that call it.
async function addInlined(p, texts, kernel, lines) {
  for (const [f, id] of Object.entries(texts)) {
    const text = await textOf(p, id);
    if (text.l.some(at => Array.isArray(at) && family(at[0]) === kernel)) addLines(lines, f, text);
  }
}

async function sourceLines(p, file) {
  const { s } = p.sources.has(file) ? await unpack(p.sources.get(file)) : { s: "" };
  const byLine = new Map();
  p.places.forEach((place, i) => { if (place?.file === file) byLine.set(place.line, i); });
  return s.split("\n").map((line, i) => ({ line, number: i + 1, places: byLine.get(i + 1) ?? null }));
}

function pane(title, lines, choose, extra) {
  const count = make("span", { className: "count" }), code = make("div", { className: "code" });
  lines.forEach((l, i) => {
    const row = codeRow(l.number, l.line, `${listed(l.places).length ? "of" : ""} ${l.head ? "head" : ""}`, lines.length > MANY);
    row.dataset.i = i;
    code.append(row);
  });
  code.addEventListener("click", e => {
    const row = e.target.closest(".row.of");
    if (row) choose(title, lines[Number(row.dataset.i)]);
  });
  const element = make("section", { className: "pane", data: { level: title } }, make("h2", {}, make("span", { textContent: title }), extra, count), code);
  return { title, lines, code, count, element };
}

function highlight(p, panes, from, line) {
  const chosen = listed(line.places), above = new Set(chosen.flatMap(x => [...closure(p, x)]));
  for (const each of panes) {
    let first = null, hits = 0;
    each.lines.forEach((l, i) => {
      const row = each.code.children[i];
      const exact = l === line || (["LLVM", "assembly"].includes(from) && ["LLVM", "assembly"].includes(each.title) && l.function === line.function && l.of != null && l.of === line.of);
      const related = isRelated(p, chosen, above, l.places);
      row.classList.toggle("exact", exact);
      row.classList.toggle("related", related && !exact);
      if (exact || related) { hits++; if (!first || (exact && !first.classList.contains("exact"))) first = row; }
    });
    each.count.textContent = hits ? `${hits} line${hits > 1 ? "s" : ""}` : "";
    if (first && each.title !== from) each.code.scrollTop = first.offsetTop - each.code.offsetTop - each.code.clientHeight / 3;
  }
}

async function showLevels(p, main, wanted = {}) {
  const names = kernels(p), files = [...p.sources.keys()].sort((a, b) => a.startsWith("<@") - b.startsWith("<@"));
  const kernel = wanted.kernel || names[0], file = wanted.file || files[0];
  const bar = make("div", { className: "bar" }, make("span", { textContent: "kernel" }),
    chooser(names, kernel, k => showLevels(p, main, { kernel: k, file }), "kernel"),
    timeOf(p, kernel), make("span", { className: "hint", textContent: "click a line: the lines of the other levels that belong to it are marked" }));
  const panes = [];
  const choose = (from, line) => {
    highlight(p, panes, from, line);
    if (from === "source" && !panes.some(x => x.title !== "source" && x.title !== "Relax" && x.code.querySelector(".related"))) follow(p, main, line, file);
  };
  panes.push(pane("source", await sourceLines(p, file), choose, chooser(files, file, f => showLevels(p, main, { kernel, file: f }), "source")));
  for (const [level, title] of LEVELS) {
    const lines = await levelLines(p, level, kernel);
    if (lines.length) panes.push(pane(title, lines, choose, null));
  }
  main.replaceChildren(make("div", { className: "wide" }, bar, make("div", { className: "panes" }, ...panes.map(x => x.element))));
  const first = wanted.line ? panes[0].lines.find(l => l.number === wanted.line) : panes[2]?.lines.findLast(l => listed(l.places).length);
  if (first) highlight(p, panes, "", first);
}

// A line of the source that is of another kernel: show that.
async function follow(p, main, line, file) {
  const chosen = listed(line.places), above = new Set(chosen);
  for (const kernel of kernels(p)) {
    const lines = await levelLines(p, "tir", kernel);
    if (lines.some(l => isRelated(p, chosen, above, l.places))) return showLevels(p, main, { kernel, file, line: line.number });
  }
}

function timeOf(p, kernel) {
  const row = (p.profile?.rows || []).find(r => r.name === kernel);
  if (!row) return null;
  const limit = row.limit == null ? "" : `, ${percent(row.limit)} of this machine's limit`;
  return make("b", { textContent: `${time(row.seconds)} in ${row.count} call${row.count > 1 ? "s" : ""} (${percent(row.share)}${limit})` });
}

// ---- schedule, times -----------------------------------------------------------------------------------------------

function showSchedule(p, main) {
  const why = make("div", { className: "why" });
  for (const decision of p.schedule) {
    const name = plain(decision.f);
    why.append(make("h3", {}, name, " ", timeOf(p, name)));
    if (decision.given) why.append(make("p", { textContent: "The schedule was given; nothing was decided." }));
    decision.rules.forEach(rule => why.append(make("div", {}, make("code", { textContent: rule }))));
    why.append(make("ul", {}, ...decision.why.map(text => make("li", { textContent: text, className: text.includes("does not fit") ? "weak" : "" }))));
  }
  if (!p.schedule.length) why.append(make("div", { className: "note", textContent: "No schedule was decided." }));
  main.replaceChildren(why);
}

function showTimes(p, main) {
  if (!p.profile) {
    main.replaceChildren(make("div", { className: "note", textContent: "Nothing was measured: tirax explain runs the program, TIRAX_TRACE does not." }));
    return;
  }
  const columns = [["name", r => r.name], ["count", r => r.count], ["time", r => time(r.seconds)], ["share", r => r.share], ["operations", r => short(r.operations)],
    ["bytes", r => short(r.bytes)], ["% of peak", r => r.limit], ["threads", r => r.threads ?? ""], ["balance", r => percent(r.balance)], ["result", r => r.result], ["source", r => r.place]];
  const cell = (name, value) => {
    if (name !== "share" && name !== "% of peak") return make("td", { textContent: value ?? "", className: ["name", "result", "source"].includes(name) ? "" : "number" });
    if (value == null) return make("td");
    const bar = make("i");
    bar.style.width = `${Math.min(100, 100 * value)}%`;
    return make("td", {}, make("span", { className: "meter" }, bar), percent(value));
  };
  const rows = p.profile.rows.map(r => make("tr", {}, ...columns.map(([name, value]) => cell(name, value(r)))));
  const head = make("tr", {}, ...columns.map(([name]) => make("th", { textContent: name })));
  const caption = `${p.profile.function}: ${time(p.profile.seconds)}; ${p.profile.sizes || ""}`;
  main.replaceChildren(make("div", { className: "table" }, make("p", { textContent: caption }), make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows))));
}

// ---- graph ---------------------------------------------------------------------------------------------------------

// Names have their modules before dots; an underscore is part of a word.
const words = name => name.split(".").filter(Boolean);
const isWeight = node => node.k === "parameter" && words(node.o).length > 1;

const commonStart = paths => paths.reduce((a, b) => a.slice(0, a.findIndex((word, i) => word !== b[i]) >>> 0));

// The module that each node belongs to: where its weights do; without any, where what it takes last does.
function modulePaths(nodes) {
  const paths = [], ofWeights = new Set();
  for (const node of nodes) {
    const weights = node.w.filter(w => words(w).length > 1);
    const inputs = node.in.filter(i => !isWeight(nodes[i]) && nodes[i].k !== "parameter");
    const owners = [...weights.map(w => words(w).slice(0, -1)), ...node.in.filter(i => ofWeights.has(i)).map(i => paths[i])];
    if (owners.length && node.in.every(i => isWeight(nodes[i]) || ofWeights.has(i))) ofWeights.add(node.i);
    if (owners.length && node.k !== "result") paths[node.i] = commonStart(owners);
    else if (inputs.length && node.k !== "result") {
      const last = paths[Math.max(...inputs)] || [];
      paths[node.i] = inputs.every(i => paths[i].join(".") === last.join(".")) ? last : last.slice(0, -1);
    } else paths[node.i] = [];
  }
  return paths;
}

function groupsOf(nodes, paths) {
  const root = { name: "", path: "", children: new Map(), nodes: [], open: true, size: 0 };
  nodes.forEach(node => {
    let at = root;
    at.size++;
    paths[node.i].forEach((word, depth) => {
      if (!at.children.has(word)) at.children.set(word, { name: word, path: paths[node.i].slice(0, depth + 1).join("."), children: new Map(), nodes: [], open: false, size: 0 });
      at = at.children.get(word);
      at.size++;
    });
    at.nodes.push(node);
  });
  return root;
}

const FEW = 40;
const visibleCount = g => g.open ? g.nodes.length + [...g.children.values()].reduce((n, c) => n + visibleCount(c), 0) : 1;

// Open groups, the outer first, those of one depth together, as long as what is seen stays small.
function openSome(root) {
  let level = [...root.children.values()];
  while (level.length) {
    level.forEach(group => { group.open = true; });
    if (visibleCount(root) > FEW) return level.forEach(group => { group.open = false; });
    level = level.flatMap(group => [...group.children.values()]);
  }
}

function visibleGraph(root, nodes, showWeights) {
  const boxes = [], owner = [], closed = [];
  const visit = (group, outer) => {
    const inside = outer || (group.open ? null : { group, members: [] });
    if (inside && !outer) closed.push(inside);
    group.nodes.forEach(node => {
      if (isWeight(node) && !showWeights) return;
      const box = { node, label: node.o, members: [node], first: node.i, in: new Set(), out: new Set() };
      boxes.push(box);
      owner[node.i] = box;
      if (inside) inside.members.push(box);
    });
    group.children.forEach(child => visit(child, inside));
  };
  visit(root, null);
  nodes.forEach(node => node.in.forEach(i => {
    const from = owner[i], to = owner[node.i];
    if (from && to && from !== to) { to.in.add(from); from.out.add(to); }
  }));
  let seen = new Set(boxes);
  closed.forEach(({ group, members }) => {
    const parts = convexParts(inOrder([...seen]), new Set(members));
    parts.forEach((part, i) => {
      const name = parts.length > 1 ? `${group.path} (${i + 1} of ${parts.length})` : group.path;
      merge(seen, part, group, name);
    });
  });
  return inOrder([...seen]);
}

// Boxes so that each stands after those that it takes from. There are no cycles: all groups are convex.
function inOrder(boxes) {
  const left = new Map(boxes.map(b => [b, b.in.size])), order = boxes.filter(b => !b.in.size);
  order.sort((a, b) => a.first - b.first);
  for (let at = 0; at < order.length; at++) {
    order[at].out.forEach(b => {
      left.set(b, left.get(b) - 1);
      if (!left.get(b)) order.push(b);
    });
  }
  return order;
}

const isOfWeights = b => !b.in.size && b.members.every(m => m.k !== "parameter");

// Split members where a way between two of them leads through others: each part can be one box. A box has an even
// number inside of the module and an odd one behind it; members of one number are a part.
function convexParts(order, members) {
  const stage = new Map(), parts = new Map();
  order.forEach(b => {
    const before = Math.max(-1, ...[...b.in].map(x => stage.get(x)));
    const at = members.has(b) ? before + Math.abs(before % 2) : before < 0 ? -1 : before + 1 - before % 2;
    stage.set(b, at);
  });
  [...order].reverse().forEach(b => { // what is made of weights alone stands where it is used
    if (members.has(b) && isOfWeights(b) && b.out.size && [...b.out].every(x => members.has(x))) stage.set(b, Math.min(...[...b.out].map(x => stage.get(x))));
  });
  order.filter(b => members.has(b)).forEach(b => parts.set(stage.get(b), [...(parts.get(stage.get(b)) || []), b]));
  return [...parts.values()];
}

function merge(boxes, part, group, label) {
  const first = Math.min(...part.map(b => b.first));
  const box = { group, label, members: part.flatMap(b => b.members), first, in: new Set(), out: new Set() };
  const inside = new Set(part);
  part.forEach(b => {
    b.in.forEach(x => { x.out.delete(b); if (!inside.has(x)) { x.out.add(box); box.in.add(x); } });
    b.out.forEach(x => { x.in.delete(b); if (!inside.has(x)) { x.in.add(box); box.out.add(x); } });
    boxes.delete(b);
  });
  boxes.add(box);
}

// Layers by the longest way from an input; in a layer by where the boxes are that lead here.
function layOut(boxes) {
  const depth = new Map();
  boxes.forEach(box => depth.set(box, Math.max(-1, ...[...box.in].map(b => depth.get(b))) + 1));
  boxes.forEach(box => { if (isOfWeights(box) && box.out.size) depth.set(box, Math.max(0, Math.min(...[...box.out].map(b => depth.get(b))) - 1)); });
  const layers = [];
  boxes.forEach(b => (layers[depth.get(b)] = layers[depth.get(b)] || []).push(b));
  const rows = layers.filter(Boolean);
  boxes.forEach(b => { b.w = Math.max(70, Math.min(230, 7.2 * Math.max(b.label.length, (b.small || "").length * 0.85) + 22)); b.h = b.small ? 38 : 28; });
  rows.forEach((row, y) => {
    const middle = b => b.in.size ? [...b.in].reduce((s, x) => s + (x.x || 0), 0) / b.in.size : 0;
    row.sort((a, b) => middle(a) - middle(b) || a.first - b.first);
    const width = row.reduce((s, b) => s + b.w + 24, -24);
    let x = -width / 2;
    row.forEach(b => { b.x = x + b.w / 2; b.y = y * 76; x += b.w + 24; });
  });
}

function timesOfNodes(p, nodes, which) {
  const times = new Map(), calls = p.profile?.calls || [];
  for (const node of nodes) {
    const where = p.places[node.l], at = where ? `${where.file}:${where.line}:` : null;
    const rows = which === "compiled"
      ? calls.filter(r => r.name === node.o && (r.result === node.v || !node.v))
      : calls.filter(r => r.kind === "kernel" && at && r.place.startsWith(at) && node.k === "operator");
    if (rows.length) times.set(node, rows.reduce((s, r) => s + r.seconds, 0));
  }
  return times;
}

function heat(part) {
  return `hsl(${Math.round(50 - 45 * Math.min(1, part))} 95% ${Math.round(85 - 25 * Math.min(1, part))}%)`;
}

async function showGraph(p, main, wanted = {}) {
  const kinds = Object.keys(p.graphs);
  if (!kinds.length) return main.replaceChildren(make("div", { className: "note", textContent: "There is no function of Relax in this program." }));
  const which = wanted.which || (p.profile && kinds.includes("compiled") ? "compiled" : kinds[0]);
  const functions = Object.keys(p.graphs[which]), f = functions.includes(wanted.f) ? wanted.f : functions[0];
  const nodes = await unpack(p.graphs[which][f]);
  const root = groupsOf(nodes, modulePaths(nodes)), times = timesOfNodes(p, nodes, which);
  openSome(root);
  const view = { x: 0, y: 0, scale: 1 }, layer = svg("g", {}), picture = svg("svg", {}, layer);
  const tree = make("div", { className: "tree" }), details = make("div", { className: "details" }, "Click a box for details. Dashed boxes are modules; click to expand.");
  const search = make("input", { type: "search", placeholder: "search", ariaLabel: "search", on: { input: () => draw() } });
  const weights = make("input", { type: "checkbox", on: { change: () => draw(true) } });
  let chosen = null, boxes = [];

  const moved = () => layer.setAttribute("transform", `translate(${view.x} ${view.y}) scale(${view.scale})`);
  const fit = () => {
    const left = Math.min(...boxes.map(b => b.x - b.w / 2)), right = Math.max(...boxes.map(b => b.x + b.w / 2)), bottom = Math.max(...boxes.map(b => b.y + b.h));
    const { width, height } = picture.getBoundingClientRect();
    view.scale = Math.max(0.8, Math.min(1.3, (width - 30) / (right - left), (height - 30) / (bottom + 30)));
    view.x = width / 2; // rows are centred at 0
    view.y = 24;
    moved();
  };
  const matches = box => search.value && box.members.some(m => `${m.o} ${m.v || ""} ${m.w.join(" ")}`.toLowerCase().includes(search.value.toLowerCase()));
  const describe = box => {
    chosen = box;
    const table = make("table");
    const line = (name, value) => value && table.append(make("tr", {}, make("td", { textContent: name }), make("td", { textContent: value })));
    if (box.group) { line("module", box.group.path); line("operations", String(box.members.length)); }
    else {
      const node = box.node, where = p.places[node.l];
      line(node.k, node.o); line("result", node.v); line("struct info", node.s); line("parameters", node.w.join(", "));
      line("source", where ? `${where.file}:${where.line}` : "");
    }
    const took = box.members.reduce((s, m) => s + (times.get(m) || 0), 0);
    if (took) line("time", `${time(took)} (${percent(took / p.profile.seconds)})`);
    details.replaceChildren(table);
    if (!box.group && box.node.k === "call") details.append(make("button", { textContent: "from source to assembly", on: { click: () => open("Levels", { kernel: box.node.o }) } }));
  };
  const toggle = group => { group.open = !group.open; chosen = null; draw(true); };
  const drawTree = () => {
    const branch = (group, depth) => {
      const row = make("div", { className: "branch" });
      row.style.paddingLeft = `${12 * depth}px`;
      row.append(make("button", { textContent: group.open ? "▾" : "▸", title: group.open ? "collapse" : "open", on: { click: () => toggle(group) } }), group.name, make("span", { className: "size", textContent: group.size }));
      tree.append(row);
      if (group.open) group.children.forEach(child => branch(child, depth + 1));
    };
    tree.replaceChildren();
    root.children.forEach(child => branch(child, 0));
  };
  const draw = anew => {
    if (anew) { boxes = visibleGraph(root, nodes, weights.checked); boxes.forEach(b => { b.small = took(b); }); layOut(boxes); drawTree(); }
    const edges = boxes.flatMap(b => [...b.in].map(a => {
      const y1 = a.y + a.h, y2 = b.y, bend = Math.max(20, Math.abs(y2 - y1) / 2);
      return svg("path", { d: `M${a.x} ${y1} C${a.x} ${y1 + bend} ${b.x} ${y2 - bend} ${b.x} ${y2}`, class: chosen && (a === chosen || b === chosen) ? "near" : "" });
    }));
    layer.replaceChildren(...edges, ...boxes.map(box));
    if (anew) fit();
  };
  const secondsOf = b => b.members.reduce((s, m) => s + (times.get(m) || 0), 0);
  const took = b => { const s = secondsOf(b); return s ? time(s) : b.group ? `${b.members.length} operations` : b.node.k === "parameter" ? b.node.s.replace(/^!relax\./, "") : b.node.v || ""; };
  const box = b => {
    const share = p.profile ? secondsOf(b) / Math.max(1e-12, ...boxes.map(secondsOf)) : 0;
    const rect = svg("rect", { x: b.x - b.w / 2, y: b.y, width: b.w, height: b.h, rx: 6 });
    if (share) rect.style.fill = heat(share);
    const label = b.label.length > 30 ? `${b.label.slice(0, 29)}…` : b.label;
    const name = svg("text", { x: b.x, y: b.y + (b.small ? 16 : 18) }), small = svg("text", { x: b.x, y: b.y + 31, class: "small" });
    name.textContent = label;
    small.textContent = b.small.slice(0, 34);
    const g = svg("g", { class: `node ${b.group ? "group" : ""} ${matches(b) ? "hit" : ""} ${share ? "hot" : ""} ${b === chosen ? "chosen" : ""}` }, rect, name, small);
    g.addEventListener("click", () => { if (dragged) return; describe(b); if (b.group) toggle(b.group); else draw(); });
    return g;
  };
  let dragged = false, from = null;
  picture.addEventListener("wheel", e => {
    e.preventDefault();
    const factor = Math.exp(-e.deltaY / 400), { left, top } = picture.getBoundingClientRect(), x = e.clientX - left, y = e.clientY - top;
    view.x = x - factor * (x - view.x); view.y = y - factor * (y - view.y); view.scale *= factor;
    moved();
  }, { passive: false });
  picture.addEventListener("pointerdown", e => { from = [e.clientX - view.x, e.clientY - view.y, e.clientX, e.clientY]; dragged = false; });
  window.addEventListener("pointermove", e => {
    if (!from) return;
    dragged = dragged || Math.hypot(e.clientX - from[2], e.clientY - from[3]) > 4;
    if (dragged) { view.x = e.clientX - from[0]; view.y = e.clientY - from[1]; moved(); }
  });
  window.addEventListener("pointerup", () => { from = null; });
  const zoom = factor => { const { width, height } = picture.getBoundingClientRect(); view.x = width / 2 - factor * (width / 2 - view.x); view.y = height / 2 - factor * (height / 2 - view.y); view.scale *= factor; moved(); };
  const bar = make("div", { className: "bar" },
    chooser(kinds, which, w => showGraph(p, main, { which: w, f }), "which graph"), functions.length > 1 ? chooser(functions, f, name => showGraph(p, main, { which, f: name }), "function") : null,
    search, make("label", {}, weights, " weights"), ...[["+", 1.3], ["−", 1 / 1.3]].map(([sign, factor]) => make("button", { textContent: sign, on: { click: () => zoom(factor) } })),
    make("button", { textContent: "fit", on: { click: fit } }), make("span", { className: "hint", textContent: p.profile ? "coloured by time" : "no times: nothing was run" }));
  const side = root.children.size ? [make("div", { className: "side modules" }, make("b", { textContent: "modules" }), tree)] : [];
  main.replaceChildren(...side, make("div", { className: "wide" }, bar, picture, details));
  draw(true);
}

// ---- the page ------------------------------------------------------------------------------------------------------

const VIEWS = { Graph: showGraph, Passes: showPasses, Levels: showLevels, Schedule: showSchedule, Times: showTimes };
let trace = null, program = null;

function open(name, wanted) {
  history.replaceState(null, "", `#${name}`);
  document.querySelectorAll("nav button").forEach(b => b.classList.toggle("chosen", b.textContent === name));
  const shown = Promise.resolve(VIEWS[name](program, document.querySelector("main"), wanted));
  shown.then(() => { document.body.dataset.shown ??= Math.round(performance.now()); });
}

function statusOf(p) {
  if (p.errors.length) return [`${p.running ? `while ${p.running.name} ran: ` : ""}${p.errors.join("\n")}`, true];
  if (p.running) return [`the trace ends while ${p.running.name} ran`, true];
  const changed = [...p.checks.values()].find(c => c.status === "changed");
  if (changed) return [`pass ${changed.n + 1} changes what is computed\n${changed.text || ""}`, true];
  if (trace.cut || !p.ended) return ["the trace is cut off", true];
  return [`${p.passes.length - 1} passes, ${p.target || ""}`, false];
}

function showProgram(p) {
  program = p;
  const [text, bad] = statusOf(p);
  const status = document.querySelector(".status");
  status.textContent = text;
  status.classList.toggle("bad", bad);
  const named = location.hash.slice(1);
  open(named in VIEWS ? named : bad ? "Passes" : "Graph");
}

document.addEventListener("DOMContentLoaded", () => {
  trace = readTrace();
  const tabs = make("nav", {}, ...Object.keys(VIEWS).map(name => make("button", { textContent: name, on: { click: () => open(name) } })));
  const titles = trace.programs.map((p, i) => `${i + 1}: ${p.title}`);
  const which = titles.length > 1 ? chooser(titles, titles[0], t => showProgram(trace.programs[titles.indexOf(t)]), "program") : null;
  document.body.prepend(make("header", {}, make("h1", { textContent: trace.programs[0]?.title || "trace" }), which, tabs, make("span", { className: "status" })), make("main"));
  if (trace.programs.length) showProgram(trace.programs[0]);
  else document.querySelector(".status").textContent = "the trace is empty";
});
