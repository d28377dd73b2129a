"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const main = document.getElementById("main");
  const SVG = "http://www.w3.org/2000/svg";
  const SHOWN = 15; // rows of the ranking before "show all"

  // ---- elements: texts go in as texts, so nothing in the data is ever read as markup
  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
    }
    for (const child of children.flat()) if (child !== null && child !== undefined) node.append(child);
    return node;
  }
  const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
  const name = text => el("bdi", {}, text);
  const panel = (title, ...children) => el("section", { class: "panel", "aria-label": title }, el("h2", {}, title), ...children);

  // ---- numbers
  const known = x => x !== null && x !== undefined;
  function number(x) {
    if (!known(x)) return "unknown";
    if (Math.abs(x) < 1e-12) return "0";
    const size = Math.abs(x);
    return (x < 0 ? "−" : "") + (size >= 1e5 || size < 1e-3 ? size.toExponential(1) : size.toPrecision(3));
  }
  const error = x => (x >= 1e5 || x < 1e-3 ? x.toExponential(0) : x.toPrecision(2));
  function probability(p) {
    if (!known(p)) return "unknown";
    if (p === 0 || p === 1) return String(p);
    const digits = p > 0.005 && p < 0.995 ? 2 : Math.min(12, Math.ceil(-Math.log10(Math.min(p, Math.max(1 - p, 1e-12)))) + 1);
    return p.toFixed(digits);
  }
  const signed = x => (x > 0 ? "+" : "") + number(x);
  const count = n => n.toLocaleString("en-US");
  const least = x => Math.abs(x) <= 1e-12;

  // ---- the roles of players
  const field = data.kind === "field", classifier = data.kind === "classifier";
  const asked = field ? data.states[data.asked] : data.target;
  const ROLES = field ? ["for", "against", "connects"] : classifier ? ["key set", "opposition", "neither"] : [];
  const SPEAKS = field
    ? ["speaks for " + asked, "speaks against " + asked, "only connects"]
    : classifier ? ["in the key set: carries the decision", "in the opposition: speaks against it", "in neither set"] : [];
  const INKS = ["var(--for)", "var(--against)", "var(--connect)"];
  const nodes = data.nodes, n = nodes.name.length;
  const role = i => (nodes.role ? nodes.role[i] : nodes.value[i] < 0 ? 1 : 0);
  const times = i => (nodes.count && nodes.count[i] > 1 ? nodes.count[i] : 1);
  const title = i => (times(i) > 1 ? count(times(i)) + " equal " + (nodes.hops[i] === 1 ? "neighbours" : "players") + " such as " : "");

  function shape(kind, r, attributes) {
    if (kind === 1) {
      const d = r * 1.2;
      return svg("path", { d: `M0 ${-d}L${d} 0L0 ${d}L${-d} 0Z`, ...attributes });
    }
    return svg("circle", { r: r, ...attributes });
  }
  function mark(kind) {
    const hollow = kind === 2 ? { fill: "none", stroke: INKS[2], "stroke-width": 2 } : { fill: INKS[kind] };
    return svg("svg", { class: "mark", viewBox: "-7 -7 14 14", "aria-hidden": "true" }, shape(kind, 5, hollow));
  }

  // ---- who is picked, and who listens
  let picked = -1;
  const listeners = [];
  function pick(i) {
    picked = picked === i ? -1 : i;
    for (const listener of listeners) listener();
  }

  // ---- belief
  function bars(states, belief, best) {
    const order = states.map((_, k) => k).sort((a, b) => belief[b] - belief[a]).slice(0, 12);
    const box = el("div", { class: "belief" });
    for (const k of order) {
      const inner = el("div", { class: k === best ? "asked" : "" });
      inner.style.width = 100 * belief[k] + "%";
      box.append(el("span", { class: "state" }, name(states[k])), el("div", { class: "track" }, inner),
        el("span", { class: "number" }, probability(belief[k])));
    }
    return box;
  }
  if (field) document.getElementById("belief").append(bars(data.states, data.belief, data.asked));

  // ---- the ranking
  const split = field;
  const ends = [0];
  for (let i = 0; i < n; i++) {
    const v = nodes.value[i] || 0, e = nodes.error[i] || 0;
    ends.push(v - e, v + e);
    if (split) for (const part of [nodes.prior[i], nodes.edges[i]]) ends.push(part || 0);
  }
  const low = Math.min(...ends), high = Math.max(...ends), span = high - low || 1;
  const at = x => 2 + 96 * (x - low) / span;

  function bar(i) {
    const parts = split ? [[nodes.prior[i] || 0, 1], [nodes.edges[i] || 0, 0.45]] : [[nodes.value[i] || 0, 1]];
    const drawn = [];
    let above = 0, below = 0;
    for (const [part, opacity] of parts) {
      if (least(part)) continue;
      const begin = part > 0 ? above : below, end = begin + part;
      if (part > 0) above = end; else below = end;
      const x = Math.max(0, Math.min(at(begin), at(end))), width = Math.min(100 - x, Math.abs(at(end) - at(begin)));
      const ink = classifier ? INKS[role(i)] : part > 0 ? INKS[0] : INKS[1];
      drawn.push(svg("rect", { x: x + "%", width: Math.max(0.4, width) + "%", y: 4, height: 12, fill: ink, opacity: opacity }));
    }
    const v = nodes.value[i], e = nodes.error[i];
    const line = (x1, x2, y1, y2, width) => svg("line", { x1: x1 + "%", x2: x2 + "%", y1: y1, y2: y2, stroke: "var(--ink)", "stroke-width": width });
    if (known(v) && known(e) && e / span > 2e-3) drawn.push(line(at(v - e), at(v + e), 10, 10, 1.5));
    if (known(v) && split) drawn.push(line(at(v), at(v), 2, 18, 2));
    drawn.push(svg("line", { x1: at(0) + "%", x2: at(0) + "%", y1: 0, y2: 20, stroke: "var(--quiet)", "stroke-width": 1 }));
    return svg("svg", { "aria-hidden": "true", height: 20 }, drawn);
  }

  function ranking() {
    let shownRole = -1, all = false, wanted = "", order = "size";
    const rows = [], body = el("tbody");
    for (let i = 0; i < n; i++) {
      const small = classifier ? nodes.instance[i] + " → " + nodes.masked[i]
        : field ? (role(i) === 2 ? "connects" : ROLES[role(i)]) + ", " + nodes.hops[i] + (nodes.hops[i] === 1 ? " hop" : " hops") : null;
      const row = el("tr", { onclick: event => { if (!event.target.closest("button")) pick(i); } },
        el("th", { scope: "row", class: "who" },
          el("div", { class: "name" }, nodes.role ? mark(role(i)) : null,
            el("button", { type: "button", "aria-pressed": "false", title: title(i) + nodes.name[i], onclick: () => pick(i) },
              title(i), name(nodes.name[i]))),
          small === null || (classifier && small === " → ") ? null : el("small", {}, name(small))),
        el("td", { class: "bar" }, bar(i)),
        el("td", { class: "value number" }, number(nodes.value[i]),
          known(nodes.error[i]) && nodes.error[i] > 1e-4 * span ? el("small", {}, "± " + error(nodes.error[i])) : null,
          nodes.role ? el("span", { class: "sr" }, ", " + SPEAKS[role(i)]) : null));
      rows.push(row);
      row.addEventListener("mouseenter", () => hover(i));
      row.addEventListener("mouseleave", () => hover(-1));
    }
    const sorts = {
      size: () => 0, value: (a, b) => (nodes.value[b] || 0) - (nodes.value[a] || 0),
      name: (a, b) => nodes.name[a].localeCompare(nodes.name[b], "en", { numeric: true }),
      hops: (a, b) => nodes.hops[a] - nodes.hops[b],
    };
    const more = el("button", { type: "button", onclick: () => { all = !all; draw(); } });
    const status = el("p", { class: "quiet", role: "status" });
    function draw() {
      const word = wanted.toLowerCase();
      const chosen = rows.map((_, i) => i)
        .filter(i => (shownRole < 0 || role(i) === shownRole) && nodes.name[i].toLowerCase().includes(word))
        .sort(sorts[order]);
      const limit = all ? chosen.length : SHOWN;
      body.replaceChildren(...chosen.slice(0, limit).map(i => rows[i]));
      more.hidden = chosen.length <= SHOWN;
      more.textContent = all ? "Show fewer" : "Show all " + count(chosen.length);
      const rest = data.others ? `, and ${count(data.others.count)} weaker ones${least(data.others.value) ? "" : `, together ${signed(data.others.value)}`}` : "";
      status.textContent = `${count(Math.min(limit, chosen.length))} of ${count(chosen.length)} rows, largest values first${rest}.`
        .replace("largest values first", { size: "largest values first", value: "from most for to most against", name: "by name", hops: "nearest first" }[order]);
    }
    listeners.push(() => rows.forEach((row, i) => {
      row.classList.toggle("picked", i === picked);
      row.querySelector("button").setAttribute("aria-pressed", String(i === picked));
    }));
    const tools = el("div", { class: "tools" });
    if (nodes.role) {
      const buttons = [-1, 0, 1, 2].map(r => {
        const many = r < 0 ? n : nodes.role.filter(x => x === r).length;
        const label = (r < 0 ? "All" : ROLES[r][0].toUpperCase() + ROLES[r].slice(1)) + " " + count(many);
        const button = el("button", { type: "button", "aria-pressed": String(r < 0), onclick: () => {
          shownRole = r;
          buttons.forEach(other => other.setAttribute("aria-pressed", String(other === button)));
          draw();
        } }, label);
        button.disabled = many === 0;
        return button;
      });
      tools.append(...buttons);
    }
    if (n > SHOWN) tools.append(
      el("label", {}, el("span", { class: "sr" }, "Search a player"),
        el("input", { type: "search", placeholder: "Search", oninput: event => { wanted = event.target.value; draw(); } })),
      el("label", {}, "sorted by ", el("select", { onchange: event => { order = event.target.value; draw(); } },
        ["size", "value", "name", ...(nodes.hops ? ["hops"] : [])].map(key => el("option", { value: key }, key)))));
    draw();
    const legend = el("p", { class: "legend" });
    const sample = opacity => svg("svg", { width: 18, height: 10, "aria-hidden": "true" }, svg("rect", { width: 18, height: 10, fill: INKS[0], opacity: opacity }));
    if (split) legend.append(el("span", {}, sample(1), "by its prior"), el("span", {}, sample(0.45), "by its edges"),
      el("span", {}, svg("svg", { width: 6, height: 14, "aria-hidden": "true" }, svg("line", { x1: 3, x2: 3, y1: 0, y2: 14, stroke: "var(--ink)", "stroke-width": 2 })), "value"));
    if (nodes.role) legend.append(...ROLES.map((word, r) => el("span", {}, mark(r), field ? SPEAKS[r] : word)));
    return panel(classifier ? "What carries it, and what opposes it" : "Key players", tools,
      el("table", { class: "ranking" },
        el("caption", { class: "sr" }, `Players by ${data.quantity}`),
        el("thead", {}, el("tr", {}, el("th", { class: "who", scope: "col" }, classifier ? "player: value → masked to" : "player"),
          el("th", { class: "bar", scope: "col" }, low < 0 ? "against · for" : ""),
          el("th", { class: "value", scope: "col" }, data.unit))), body),
      status, more, legend);
  }

  // ---- hovering links the ranking and the picture
  let hover = () => {};

  // ---- the neighbourhood
  function neighbourhood() {
    const most = n, narrow = window.innerWidth < 600;
    let drawn = narrow ? Math.min(most, 40) : most;
    const x = [0, ...nodes.x], y = [0, ...nodes.y], r = [20, ...nodes.r];
    const others = data.others;
    const top = Math.max(...nodes.value.map(v => Math.abs(v || 0)), 1e-300);
    const tint = v => {
      const share = Math.round(100 * Math.sqrt(Math.abs(v || 0) / top));
      return `color-mix(in oklab, ${v < 0 ? INKS[1] : INKS[0]} ${Math.max(share, 12)}%, var(--neutral))`;
    };
    const picture = svg("svg", { role: "group", "aria-label": "The neighbourhood as a picture; the table has the same. Arrow keys go from player to player, Enter picks, plus and minus zoom." });
    const linkLayer = svg("g"), stepLayer = svg("g"), nodeLayer = svg("g"), textLayer = svg("g", { "aria-hidden": "true" });
    picture.append(linkLayer, stepLayer, nodeLayer, textLayer);
    const links = data.links.map(([a, b]) => ({ a, b, line: svg("line", { class: "link", "stroke-width": 1 }) }));
    const steps = nodes.parent.map((parent, i) => {
      const line = svg("line", { class: "step", "stroke-width": 1 + 4 * Math.sqrt(Math.abs(nodes.value[i] || 0) / top) });
      line.style.stroke = tint(nodes.value[i]);
      return { a: i + 1, b: parent, line };
    });
    linkLayer.append(...links.map(l => l.line));
    stepLayer.append(...steps.map(s => s.line));
    let otherLine = null, otherNode = null;
    if (others) {
      otherLine = svg("line", { class: "step", stroke: "var(--line)", "stroke-width": 2, "stroke-dasharray": "4 4" });
      stepLayer.append(otherLine);
    }
    const target = svg("g", { class: "node", "data-node": 0 }, svg("circle", { r: 20, class: "shape" }));
    target.firstChild.style.fill = "var(--ink)";
    const marks = [target];
    for (let i = 0; i < n; i++) {
      const inner = shape(role(i), r[i + 1], { class: "shape" });
      inner.style.fill = role(i) === 2 ? "var(--bg)" : tint(nodes.value[i]);
      inner.style.stroke = role(i) === 2 ? tint(nodes.value[i]) : "var(--bg)";
      inner.setAttribute("stroke-width", role(i) === 2 ? 3 : 1);
      const group = svg("g", { class: "node", "data-node": i + 1, role: "button", tabindex: i ? -1 : 0,
        "aria-label": `${title(i)}${nodes.name[i]}: ${number(nodes.value[i])}, ${SPEAKS[role(i)]}` }, inner);
      if (times(i) > 1) group.prepend(svg("circle", { r: r[i + 1] + 5, fill: "none", stroke: "var(--quiet)", "stroke-width": 1.5 }));
      marks.push(group);
    }
    nodeLayer.append(...marks);
    if (others) {
      otherNode = svg("g", {}, svg("circle", { r: 15, fill: "var(--panel)", stroke: "var(--quiet)", "stroke-dasharray": "4 3" }));
      nodeLayer.append(otherNode);
    }

    // which nodes are there: the strongest, and those on their paths
    let visible = [];
    function choose() {
      const keep = new Set([0]);
      for (let i = 1; i <= drawn; i++) for (let v = i; v && !keep.has(v); v = nodes.parent[v - 1]) keep.add(v);
      visible = marks.map((_, v) => keep.has(v));
      marks.forEach((g, v) => g.toggleAttribute("hidden", !visible[v]));
      marks.forEach((g, v) => g.style.display = visible[v] ? "" : "none");
      [...links, ...steps].forEach(e => e.line.style.display = visible[e.a] && visible[e.b] ? "" : "none");
    }
    function place() {
      marks.forEach((g, v) => g.setAttribute("transform", `translate(${x[v]} ${y[v]})`));
      [...links, ...steps].forEach(e => fill(e.line, { x1: x[e.a], y1: y[e.a], x2: x[e.b], y2: y[e.b] }, []));
      if (others) {
        otherNode.setAttribute("transform", `translate(${others.x} ${others.y})`);
        fill(otherLine, { x1: others.x, y1: others.y, x2: 0, y2: 0 }, []);
      }
    }

    // the window onto the picture
    let view = { x: 0, y: 0, w: 1, h: 1 };
    function size() {
      const box = picture.getBoundingClientRect();
      return { w: box.width || 500, h: box.height || 500 };
    }
    function fit() {
      const shown = x.map((_, v) => v).filter(v => visible[v]);
      const xs = shown.map(v => x[v]), ys = shown.map(v => y[v]);
      if (others) { xs.push(others.x); ys.push(others.y); }
      const box = size(), room = 18;
      let w = Math.max(...xs) - Math.min(...xs) + 2 * room, h = Math.max(...ys) - Math.min(...ys) + 2 * room;
      // names stand beside their nodes: leave room for them, whatever the scale
      const scale = Math.max((w) / Math.max(box.w - (box.w < 420 ? 110 : 220), 100), h / Math.max(box.h - 40, 100), 0.5);
      w = scale * box.w; h = scale * box.h;
      view = { x: (Math.max(...xs) + Math.min(...xs)) / 2 - w / 2, y: (Math.max(...ys) + Math.min(...ys)) / 2 - h / 2, w, h };
      look();
    }
    function look() {
      picture.setAttribute("viewBox", `${view.x} ${view.y} ${view.w} ${view.h}`);
      label();
    }
    function zoom(by, cx = view.x + view.w / 2, cy = view.y + view.h / 2) {
      view = { x: cx - (cx - view.x) * by, y: cy - (cy - view.y) * by, w: view.w * by, h: view.h * by };
      look();
    }

    // names, the most important first, where they touch nothing that is named or drawn already
    function label() {
      const scale = view.w / size().w, letter = 12 * scale, taken = [];
      for (let v = 0; v < marks.length; v++) if (visible[v])
        taken.push({ v, l: x[v] - r[v], r: x[v] + r[v], t: y[v] - r[v], b: y[v] + r[v] });
      if (others) taken.push({ v: -1, l: others.x - 15, r: others.x + 15, t: others.y - 15, b: others.y + 15 });
      textLayer.replaceChildren();
      const path = onPath(), wanted = [0, ...(others ? [-1] : []), ...path, ...marks.keys()];
      const done = new Set();
      for (const v of wanted) {
        if (done.has(v) || (v >= 0 && !visible[v])) continue;
        done.add(v);
        const cx = v < 0 ? others.x : x[v], cy = v < 0 ? others.y : y[v], cr = v < 0 ? 15 : r[v];
        let words = v < 0 ? count(others.count) + " others" : v === 0 ? data.target
          : times(v - 1) > 1 ? count(times(v - 1)) + " like " + nodes.name[v - 1] : nodes.name[v - 1];
        words = [...words];
        words = words.length > 18 ? words.slice(0, 17).join("") + "…" : words.join("");
        const text = svg("text", { "font-size": letter, "stroke-width": 3 * scale }, words);
        textLayer.append(text);
        const width = text.getComputedTextLength(), gap = 4 * scale, extra = v > 0 && times(v - 1) > 1 ? 5 : 0;
        const spots = [
          [cx + cr + extra + gap, cy + letter * 0.35], [cx - cr - extra - gap - width, cy + letter * 0.35],
          [cx - width / 2, cy + cr + extra + letter], [cx - width / 2, cy - cr - extra - gap],
        ];
        // never towards the middle, where all paths lead
        if (cx > 5) spots.splice(1, 1); else if (cx < -5) spots.splice(0, 1);
        const free = spots.map(([l, b]) => ({ v: -2, l, b: b + letter * 0.25, r: l + width, t: b - letter * 0.85, at: b }))
          .find(box => box.l > view.x && box.r < view.x + view.w && box.t > view.y && box.b < view.y + view.h
            && !taken.some(other => other.v !== v && box.l < other.r && box.r > other.l && box.t < other.b && box.b > other.t));
        if (!free) { text.remove(); continue; }
        fill(text, { x: free.l, y: free.at }, []);
        taken.push(free);
      }
    }
    function onPath() {
      const path = [];
      for (let v = picked + 1; v > 0; v = nodes.parent[v - 1]) path.push(v);
      return path;
    }
    listeners.push(() => {
      if (picked >= drawn) { drawn = picked + 1; slider.value = drawn; amount(); choose(); fit(); }
      const path = new Set(onPath());
      marks.forEach((g, v) => {
        g.classList.toggle("dim", path.size > 0 && v > 0 && !path.has(v));
        const inner = g.querySelector(".shape");
        if (v) {
          inner.style.stroke = path.has(v) ? "var(--pick)" : role(v - 1) === 2 ? tint(nodes.value[v - 1]) : "var(--bg)";
          inner.setAttribute("stroke-width", path.has(v) ? 4 : role(v - 1) === 2 ? 3 : 1);
        }
      });
      steps.forEach(s => {
        s.line.classList.toggle("dim", path.size > 0 && !path.has(s.a));
        s.line.style.stroke = path.has(s.a) ? "var(--pick)" : tint(nodes.value[s.a - 1]);
      });
      links.forEach(l => l.line.classList.toggle("dim", path.size > 0));
      label();
    });

    // hover
    const tip = el("div", { class: "tip", role: "tooltip", hidden: true });
    const box = el("div", { class: "net" }, picture, tip);
    function show(i, near) {
      document.querySelectorAll(".hot").forEach(row => row.classList.remove("hot"));
      if (i < 0) { tip.hidden = true; return; }
      tip.replaceChildren(el("strong", {}, title(i), name(nodes.name[i])), el("br"),
        `${number(nodes.value[i])} ${data.unit}, ${SPEAKS[role(i)]}`);
      tip.hidden = !near;
      if (!near) return;
      const frame = box.getBoundingClientRect(), own = tip.getBoundingClientRect();
      tip.style.left = Math.max(4, Math.min(near.clientX - frame.left + 14, frame.width - own.width - 4)) + "px";
      tip.style.top = Math.max(4, near.clientY - frame.top - own.height - 12) + "px";
    }
    hover = i => marks.forEach((g, v) => {
      const inner = g.querySelector(".shape");
      inner.style.filter = v === i + 1 && v ? "drop-shadow(0 0 5px var(--pick))" : "";
    });

    // drag a player, drag the picture, click to pick
    let held = null;
    const nodeOf = event => { const g = event.target.closest && event.target.closest(".node"); return g ? Number(g.dataset.node) : -1; };
    const perPixel = () => view.w / size().w;
    picture.addEventListener("pointerdown", event => {
      if (event.button) return;
      held = { v: nodeOf(event), px: event.clientX, py: event.clientY, moved: false };
      picture.setPointerCapture(event.pointerId);
      tip.hidden = true;
    });
    picture.addEventListener("pointermove", event => {
      if (!held) { const v = nodeOf(event); show(v - 1 < 0 ? -1 : v - 1, event); return; }
      const dx = (event.clientX - held.px) * perPixel(), dy = (event.clientY - held.py) * perPixel();
      if (!held.moved && Math.hypot(event.clientX - held.px, event.clientY - held.py) < 4) return;
      held.moved = true; held.px = event.clientX; held.py = event.clientY;
      picture.classList.add("dragging");
      if (held.v > 0) { x[held.v] += dx; y[held.v] += dy; place(); label(); }
      else { view.x -= dx; view.y -= dy; look(); }
    });
    const release = () => {
      if (held && !held.moved && held.v > 0) pick(held.v - 1);
      held = null;
      picture.classList.remove("dragging");
    };
    picture.addEventListener("pointerup", release);
    picture.addEventListener("pointercancel", () => { held = null; picture.classList.remove("dragging"); });
    picture.addEventListener("pointerleave", () => { if (!held) show(-1); });
    picture.addEventListener("wheel", event => {
      if (!event.ctrlKey && !picture.contains(document.activeElement)) return; // scrolling the page stays scrolling
      event.preventDefault();
      const frame = picture.getBoundingClientRect();
      zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15, view.x + (event.clientX - frame.left) * perPixel(), view.y + (event.clientY - frame.top) * perPixel());
    }, { passive: false });
    picture.addEventListener("keydown", event => {
      const focused = marks.indexOf(document.activeElement), step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (step && focused > 0) {
        let next = focused;
        do next += step; while (next > 0 && next < marks.length && !visible[next]);
        if (next > 0 && next < marks.length) {
          marks[focused].setAttribute("tabindex", -1);
          marks[next].setAttribute("tabindex", 0);
          marks[next].focus();
        }
      } else if ((event.key === "Enter" || event.key === " ") && focused > 0) pick(focused - 1);
      else if (event.key === "Escape" && picked >= 0) pick(picked);
      else if (event.key === "+") zoom(1 / 1.25);
      else if (event.key === "-") zoom(1.25);
      else if (event.key === "0") fit();
      else return;
      event.preventDefault();
    });

    const amountText = el("span", { class: "number" });
    const amount = () => { amountText.textContent = `${count(drawn)} of ${count(most)}`; };
    const slider = el("input", { type: "range", min: 1, max: Math.max(most, 1), value: drawn, "aria-label": "How many players are drawn",
      oninput: event => { drawn = Number(event.target.value); amount(); choose(); fit(); } });
    const tools = el("div", { class: "tools" },
      el("button", { type: "button", "aria-label": "Zoom in", onclick: () => zoom(1 / 1.3) }, "+"),
      el("button", { type: "button", "aria-label": "Zoom out", onclick: () => zoom(1.3) }, "−"),
      el("button", { type: "button", onclick: fit }, "Whole picture"),
      most > 8 ? el("label", {}, "drawn ", slider, amountText) : null);
    amount();
    const section = panel("The neighbourhood", tools, box,
      el("p", { class: "quiet" }, "The target stands in the middle, players as many rings away as their best path has steps. Colour and size: how much, and to which side. ",
        nodes.count.some(c => c > 1) ? "A second ring: several equal players. " : "", "Pick one to see its path; drag to move; Ctrl and wheel to zoom."));
    choose();
    place();
    new ResizeObserver(fit).observe(picture);
    return section;
  }

  // ---- the picked player
  function detail() {
    const box = el("div", { "aria-live": "polite" });
    const row = (term, ...what) => el("div", {}, el("dt", {}, term), el("dd", {}, ...what));
    function without(which, i) {
      const after = data.without && data.without[which][i];
      if (!after) return null;
      const before = data.belief[data.asked], now = after[data.asked];
      const best = after.indexOf(Math.max(...after)), flips = best !== data.belief.indexOf(Math.max(...data.belief));
      return [bars(data.states, after, data.asked),
        `${asked}: ${probability(before)} → ${probability(now)}`, flips ? el("strong", {}, ` It would be ${data.states[best]}.`) : null];
    }
    function draw() {
      const i = picked;
      if (i < 0) {
        box.replaceChildren(el("p", { class: "quiet" }, "Pick a player, in the table or in the picture, to see more of it."));
        return;
      }
      const list = el("dl");
      list.append(row("Value", `${number(nodes.value[i])} ${data.unit}`, known(nodes.error[i]) && nodes.error[i] > 1e-4 * span ? ` ± ${error(nodes.error[i])}` : ""));
      if (field) {
        list.append(row("By its prior", number(nodes.prior[i])), row("By its edges", number(nodes.edges[i])));
        if (data.pull_unit !== data.unit || nodes.pull[i] !== nodes.value[i]) list.append(row("Pull to " + data.pull, `${number(nodes.pull[i])} ${data.pull_unit}`));
        list.append(row("Best path", el("ol", { class: "path" }, [nodes.name[i], ...nodes.path[i], data.target].map(step => el("li", { title: step }, name(step))))));
        const gone = without("removed", i), bare = without("bare", i), one = times(i) > 1 ? " one of them" : " it";
        if (bare) list.append(row("If nothing were known of" + one, ...bare));
        if (gone) list.append(row("Without" + one, ...gone));
      }
      if (classifier) {
        list.append(row("Value of the row", name(nodes.instance[i])), row("Masked to", name(nodes.masked[i])));
        if (known(nodes.rate[i])) list.append(row("Win rate", number(nodes.rate[i])));
      }
      box.replaceChildren(...[el("h3", {}, title(i), name(nodes.name[i])),
        nodes.role ? el("p", {}, SPEAKS[role(i)][0].toUpperCase() + SPEAKS[role(i)].slice(1) + ".") : null, list].filter(Boolean));
    }
    listeners.push(draw);
    draw();
    const section = panel("The picked player", box);
    section.classList.add("detail");
    return section;
  }

  // ---- classifiers
  function trail() {
    const list = el("ol", { class: "trail" });
    data.trail.forEach((step, k) => {
      const inner = el("div", { class: "asked" });
      inner.style.width = 100 * step.p + "%";
      if (step.says !== data.target) inner.style.background = "var(--against)";
      const kind = k === 1 ? "for" : k === 2 ? "against" : "";
      list.append(el("li", {},
        el("div", { class: "head" }, el("span", {}, step.what[0].toUpperCase() + step.what.slice(1)),
          el("span", { class: "number" }, probability(step.p), ", says ", name(step.says))),
        el("div", { class: "track" }, inner),
        step.players.length ? el("div", { class: "chips" }, step.players.slice(0, 20).map(p => el("span", { class: "chip " + kind }, name(p))),
          step.players.length > 20 ? `and ${count(step.players.length - 20)} more` : null) : null));
    });
    return panel("How the decision turns", el("p", { class: "quiet" }, "Probability of ", name(data.target), ", and what the model says"), list);
  }
  const MARKED = ["mark-for", "mark-against", ""];
  const SHOW = {
    text: shown => el("p", { class: "text", dir: "auto" },
      shown.pieces.map(([words, role]) => role === 2 ? words : el("mark", { class: MARKED[role] }, words, el("span", { class: "sr" }, ` (${ROLES[role]})`))),
      shown.left_out ? el("span", { class: "quiet" }, ` … ${count(shown.left_out)} more characters`) : null),
    image: shown => el("img", { class: "image", src: shown.png, alt: `The image in grey, ${count(shown.width)} by ${count(shown.height)} pixels; the key set is blue, the opposition red. The table names them.` }),
    series: shown => el("div", {}, shown.channels.map((channel, c) => {
      const numbers = channel.values.filter(known), bottom = Math.min(...numbers), range = Math.max(...numbers) - bottom || 1;
      const px = step => 1000 * step / Math.max(shown.n_steps - 1, 1), py = v => 110 - 100 * (v - bottom) / range;
      const lines = [[]];
      channel.values.forEach((v, k) => known(v) ? lines[lines.length - 1].push(`${px(shown.steps[k])},${py(v)}`) : lines.push([]));
      return el("figure", { class: "series" }, el("figcaption", { class: "quiet" }, name(channel.name)),
        svg("svg", { viewBox: "0 0 1000 120", preserveAspectRatio: "none", role: "img", "aria-label": channel.name },
          shown.windows.filter(([, , its]) => its < 0 || its === c).map(([begin, end, , role]) =>
            svg("rect", { x: px(begin - 0.5), y: 0, width: Math.max(px(end) - px(begin), 4), height: 120, fill: INKS[role], opacity: 0.3 })),
          lines.map(points => svg("polyline", { points: points.join(" "), fill: "none", stroke: "var(--ink)", "stroke-width": 1.5, "vector-effect": "non-scaling-stroke" }))));
    })),
  };
  function instance() {
    if (!data.shown) return null;
    return panel("The " + data.shown.kind, SHOW[data.shown.kind](data.shown),
      el("p", { class: "legend" }, el("span", {}, el("mark", { class: "mark-for" }, "key set")), el("span", {}, el("mark", { class: "mark-against" }, "opposition"))));
  }
  function sets() {
    if (data.sets.length < 2) return null;
    return panel("Other sets that change it", el("ul", {}, data.sets.slice(1).map(set => el("li", {}, el("div", { class: "chips" }, set.map(p => el("span", { class: "chip for" }, name(p))))))));
  }
  function relations() {
    if (!data.relations.length) return null;
    const players = [...new Set(data.relations.flatMap(([a, b]) => [a, b]))].slice(0, 10);
    const change = new Map(data.relations.map(([a, b, kind, c]) => [JSON.stringify([a, b].sort()), c]));
    const most = Math.max(...data.relations.map(rel => Math.abs(rel[3] || 0)), 1e-300);
    const table = el("table", { class: "matrix" }, el("caption", { class: "sr" }, "How players change each other's worth"),
      el("thead", {}, el("tr", {}, el("td"), players.map((_, k) => el("th", { scope: "col" }, String(k + 1))))),
      el("tbody", {}, players.map((a, i) => el("tr", {}, el("th", { scope: "row" }, `${i + 1} `, name(a)), players.map((b, j) => {
        const c = i === j ? null : change.get(JSON.stringify([a, b].sort()));
        const cell = el("td", {}, known(c) ? (c < 0 ? "−" : "+") + Math.abs(100 * c).toFixed(Math.abs(c) < 0.0995 ? 1 : 0) : i === j ? "·" : "");
        if (known(c)) cell.style.background = `color-mix(in oklab, ${c < 0 ? INKS[1] : INKS[0]} ${Math.round(60 * Math.abs(c) / most)}%, transparent)`;
        return cell;
      })))));
    return panel("Who needs whom", el("p", { class: "quiet" }, "What masking both moves the probability beyond what each moves alone, in percentage points. Below 0 they compete: one does what the other would. Above 0 they act together."),
      el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Relations" }, table));
  }
  function alternatives() {
    if (!data.alternatives.length) return null;
    const own = new Map();
    for (const each of data.alternatives) for (const [player, value] of each.changes) own.set(player, value);
    const table = el("table", { class: "rows" }, el("caption", { class: "sr" }, "Rows that would be decided otherwise"),
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "player"), el("th", { scope: "col" }, "as it is"),
        data.alternatives.map((each, k) => el("th", { scope: "col" }, `row ${k + 1}: `, name(each.says), ` (${probability(each.p)})`)))),
      el("tbody", {}, [...own].map(([player, value]) => el("tr", {}, el("th", { scope: "row" }, name(player)), el("td", {}, name(value)),
        data.alternatives.map(each => {
          const found = each.changes.find(([p]) => p === player);
          return el("td", { class: found ? "changed" : "" }, found ? name(found[2]) : el("span", { class: "quiet" }, "same"));
        })))));
    return panel("What would change the decision", el("p", { class: "quiet" }, `Changes towards real rows that the model decides otherwise; the probability of ${data.target} after them.`),
      el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Alternatives" }, table));
  }

  // ---- put together
  const left = el("div"), right = el("div");
  main.append(el("div", { class: classifier ? "columns instance-first" : "columns" }, left, right));
  const put = (column, ...panels) => column.append(...panels.filter(Boolean));
  if (!n) main.replaceChildren(el("p", { class: "panel" }, "There are no players."));
  else if (field) { const picture = neighbourhood(); put(left, ranking()); put(right, picture, detail()); }
  else if (classifier) { put(left, ranking(), relations()); put(right, instance(), trail(), alternatives(), detail(), sets()); }
  else { put(left, ranking()); put(right, detail()); }
})();
