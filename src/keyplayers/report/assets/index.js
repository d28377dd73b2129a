"use strict";
(() => {
  const { rows } = JSON.parse(document.getElementById("data").textContent);
  const main = document.getElementById("main");
  const [TARGET, STATUS, SAID, P, PLAYER, VALUE, SENTENCE, PAGE] = [0, 1, 2, 3, 4, 5, 6, 7];
  const PER_PAGE = 50;
  const el = (tag, attributes, ...children) => {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
      else if (value !== false && value !== null) node.setAttribute(key, value === true ? "" : value);
    }
    node.append(...children.flat().filter(child => child !== null));
    return node;
  };
  const count = n => n.toLocaleString("en-US");
  const number = x => (x === null ? "" : Math.abs(x) >= 1e-3 && Math.abs(x) < 1e5 ? x.toPrecision(3) : x === 0 ? "0" : x.toExponential(1));
  const probability = p => (p === null ? "" : p > 1 - 5e-7 && p < 1 ? "> 0.999999" : p === 0 || p === 1 ? String(p) : p < 0.995 ? p.toFixed(2) : p.toFixed(6).replace(/(9[^9])\d*$/, "$1"));

  const collator = new Intl.Collator("en", { numeric: true });
  const texts = rows.map(row => [row[TARGET], row[SAID], row[PLAYER], row[SENTENCE]].join("\n").toLowerCase());
  let column = null, downward = false, wanted = "", said = "", status = "", page = 0, found = rows.map((_, i) => i);

  function choose() {
    const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
    found = [];
    for (let i = 0; i < rows.length; i++)
      if ((!said || rows[i][SAID] === said) && (!status || rows[i][STATUS] === status) && words.every(word => texts[i].includes(word))) found.push(i);
    if (column !== null) {
      const numeric = column === P || column === VALUE;
      const size = i => (rows[i][column] === null ? -Infinity : column === VALUE ? Math.abs(rows[i][column]) : rows[i][column]);
      found.sort((a, b) => (downward ? -1 : 1) * (numeric ? size(a) - size(b) : collator.compare(rows[a][column], rows[b][column])) || a - b);
    }
    page = 0;
    draw();
  }

  const body = el("tbody"), told = el("p", { class: "quiet", role: "status" });
  const heads = [[TARGET, "target", ""], [SAID, "decision", ""], [P, "probability", "num"], [PLAYER, "most important", ""],
    [VALUE, "its value", "num"], [STATUS, "status", "wide status"], [SENTENCE, "in words", "wide words"]];
  const ths = heads.map(([key, title, kind]) => {
    const th = el("th", { scope: "col", class: kind, "aria-sort": "none" }, el("button", { type: "button", onclick: () => {
      downward = column === key ? !downward : key === P || key === VALUE;
      column = key;
      ths.forEach(other => other.setAttribute("aria-sort", other === th ? (downward ? "descending" : "ascending") : "none"));
      choose();
    } }, title));
    return th;
  });

  function draw() {
    const last = Math.max(0, Math.ceil(found.length / PER_PAGE) - 1);
    page = Math.max(0, Math.min(page, last));
    body.replaceChildren(...found.slice(page * PER_PAGE, (page + 1) * PER_PAGE).map(i => {
      const row = rows[i], target = el("bdi", {}, row[TARGET]);
      return el("tr", {}, heads.map(([key, , kind]) => {
        if (key === TARGET) return el("th", { scope: "row", title: row[TARGET] }, row[PAGE] ? el("a", { href: row[PAGE] }, target) : target);
        const text = key === P ? probability(row[P]) : key === VALUE ? number(row[VALUE]) : row[key];
        return el("td", { class: kind, title: text }, el("bdi", {}, text));
      }));
    }));
    const begin = found.length ? page * PER_PAGE + 1 : 0, end = Math.min(found.length, (page + 1) * PER_PAGE);
    told.textContent = `${count(begin)} to ${count(end)} of ${count(found.length)}` + (found.length < rows.length ? ` (all: ${count(rows.length)})` : "");
    back.disabled = page === 0;
    forth.disabled = page === last;
  }

  const back = el("button", { type: "button", onclick: () => { page--; draw(); } }, "Previous");
  const forth = el("button", { type: "button", onclick: () => { page++; draw(); } }, "Next");
  const options = key => [...new Set(rows.map(row => row[key]))].filter(Boolean).sort(collator.compare).slice(0, 200);
  const select = (title, key, set) => {
    const values = options(key);
    return values.length < 2 ? null : el("label", {}, title, el("select", { onchange: event => { set(event.target.value); choose(); } },
      el("option", { value: "" }, "all"), values.map(value => el("option", { value }, value))));
  };
  main.append(el("section", { class: "panel", "aria-label": "Targets" },
    el("div", { class: "tools" },
      el("label", {}, el("span", { class: "sr" }, "Search targets"), el("input", { type: "search", placeholder: "Search", oninput: event => { wanted = event.target.value; choose(); } })),
      select("decision", SAID, value => { said = value; }),
      select("status", STATUS, value => { status = value; }), back, forth, told),
    el("table", { class: "index" }, el("thead", {}, el("tr", {}, ths)), body)));
  choose();
  document.documentElement.dataset.ready = "yes";
})();
