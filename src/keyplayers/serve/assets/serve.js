"use strict";
const at = id => document.getElementById(id);
const make = (tag, text, ...inner) => { const x = document.createElement(tag); x.textContent = text; x.append(...inner); return x; };
let target = null, also = [], about = "players", asked = 0;

async function ask(address, options) {
  const answer = await fetch(address, options);
  const data = await answer.json();
  if (!answer.ok) throw new Error(data.error);
  return data;
}

/* one thing after the other; what went wrong is said above */
async function attempt(act) {
  at("error").hidden = true;
  try { await act(); } catch (error) { at("error").textContent = error.message; at("error").hidden = false; }
}

async function search() {
  const mine = ++asked;
  const data = await ask("search?text=" + encodeURIComponent(at("text").value));
  if (mine !== asked) return;
  at("found").replaceChildren(...data.found.map(row => {
    const look = make("button", row.name), item = make("li", "", look);
    look.className = "look";
    look.onclick = () => attempt(() => { target = row.id; also = []; return show(); });
    if (target !== null) {
      const add = make("button", "+");
      add.className = "add";
      add.title = "Add evidence of this one";
      add.setAttribute("aria-label", "Add evidence of " + row.name);
      add.onclick = () => attempt(() => { also = [row.id, ...also.filter(id => id !== row.id)].slice(0, 50); return show(); });
      item.append(add);
    }
    return item;
  }));
  at("found-more").hidden = !data.more;
}

async function show() {
  const mine = target, data = await ask(`account/${mine}?also=${also}`);
  if (mine !== target) return;
  at("account").hidden = at("why").hidden = false;
  at("name").textContent = data.name;
  at("caveat").textContent = data.caveat;
  at("caveat").hidden = !data.caveat;
  at("beliefs").replaceChildren(...data.beliefs.map(cells => make("tr", "", ...cells.map(text => make("td", text)))));
  at("changes").textContent = data.changes ? `${data.changes} changed` : "";
  at("reset").disabled = !data.changes;
  at("evidence").replaceChildren(...data.evidence.map(row));
  at("more").textContent = `${data.more} more`;
  at("more").hidden = !data.more;
  explain();
  await search();
}

function row(data) {
  const name = make("th", data.name), now = make("td", "");
  name.scope = "row";
  const choices = [["given", data.given ? "as given" : "nothing known"], ...data.states.map((state, i) => [i, state])];
  if (data.given) {
    const on = make("button", data.choice === "none" ? "off" : "on");
    on.setAttribute("aria-pressed", data.choice !== "none");
    on.setAttribute("aria-label", "Evidence of " + data.name);
    on.onclick = () => choose(data.id, data.choice === "none" ? "given" : "none");
    now.append(on, " ");
    choices.splice(1, 0, ["none", "switched off"]);
  }
  const select = make("select", "", ...choices.map(([value, text]) => { const x = make("option", text); x.value = value; return x; }));
  select.value = data.choice;
  select.setAttribute("aria-label", "What is observed of " + data.name);
  select.onchange = () => choose(data.id, select.value);
  now.append(select);
  return make("tr", "", name, make("td", data.hops ?? "far"), make("td", data.given), now);
}

const change = address => attempt(async () => {
  try { await ask(address, { method: "POST" }); } catch (error) { await show(); throw error; }
  await show();
});
const choose = (id, choice) => change(`evidence/${id}/${choice}`);

function explain() {
  const address = `explanation/${target}/${about}`;
  for (const id of ["players", "flip"]) at(id).setAttribute("aria-pressed", id === about);
  at("frame").src = address;
  at("save").href = address + "?save=1";
}

at("text").oninput = () => attempt(search);
at("reset").onclick = () => change("reset");
for (const id of ["players", "flip"]) at(id).onclick = () => { about = id; explain(); };
attempt(search);
