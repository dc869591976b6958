// The page: its frame of navigation, which view an address shows, and the keys that work everywhere.
import { html, render } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { Home } from "./home.js";
import { Job } from "./job.js";
import { Jobs } from "./jobs.js";
import { kept } from "./kept.js";
import { bells, confirm, Empty, Later, Notices, Question, say, undoable } from "./parts.js";
import { go, route, to } from "./route.js";
import { begin, may, me, secure, signedOut, start } from "./session.js";
import { farm, hello, jobs, link, outdated } from "./store.js";
import { plain, quoted, sentence, span } from "./text.js";
import { theme, turn } from "./theme.js";

/** later are the views whose modules are loaded when they are first seen. */
const later = {
  hosts: () => import("./hosts.js").then(module => module.Hosts),
  share: () => import("./share.js").then(module => module.Share),
  history: () => import("./history.js").then(module => module.FarmHistory),
  notices: () => import("./bell.js").then(module => module.Bell),
  undo: () => import("./undo.js").then(module => module.Undo),
  submit: () => import("./submit.js").then(module => module.Submit),
  fairshare: () => import("./shares.js").then(module => module.Fairshare),
  reports: () => import("./reports.js").then(module => module.Reports),
  slots: () => import("./slots.js").then(module => module.Slots),
  me: () => import("./me.js").then(module => module.Me),
  "what-if": () => import("./whatif.js").then(module => module.WhatIf),
};

const host = () => import("./host.js").then(module => module.Host);
const item = () => import("./item.js").then(module => module.Item);
const instance = () => import("./instance.js").then(module => module.Instance);

const places = [
  ["", "Farm"],
  ["jobs", "Jobs"],
  ["hosts", "Hosts"],
  ["slots", "Slots"],
  ["share", "Share"],
  ["what-if", "What if"],
  ["fairshare", "Fairshare"],
  ["reports", "Reports"],
  ["history", "History"],
  ["submit", "Submit"],
];

function view(path) {
  const [place = "", id, items, name] = path;
  if (place === "jobs" && items === "items" && name !== undefined)
    return html`<${Later} key=${`${id}/${name}`} load=${item} id=${id} item=${name} />`;
  if (place === "jobs" && items === "instances" && name !== undefined)
    return html`<${Later} key=${`${id}.${name}`} load=${instance} id=${id} instance=${name} />`;
  if (place === "jobs" && id)
    return /^\d+$/.test(id)
      ? html`<${Job} key=${id} id=${id} />`
      : html`<${Empty} title=${`${plain(id)} is not the id of a job; ids are numbers`} />`;
  if (place === "hosts" && id) return html`<${Later} key=${`host ${id}`} load=${host} name=${id} />`;
  switch (place) {
    case "":
      return html`<${Home} />`;
    case "jobs":
      return html`<${Jobs} />`;
  }
  if (Object.hasOwn(later, place)) return html`<${Later} key=${place} load=${later[place]} path=${path} />`;
  return html`<${Empty} title="There is no such view"><a href=${to([])}>The farm</a><//>`;
}

/** useSeconds draws anew each second, for what tells an age. */
function useSeconds() {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick(n => n + 1), 1000);
    return () => clearInterval(timer);
  }, []);
}

/** Live says how old the picture is, in words. */
function Live() {
  useSeconds();
  const { state, at, reason } = link.value;
  const old = at ? (Date.now() - at) / 1000 : 0;
  const text =
    state === "live" ? "live" : state === "connecting" ? "connecting" : `cut off${at ? `, ${span(old)} old` : ""}`;
  return html`<span class="live ${state}"
    title=${state === "live" ? `version ${hello.value?.version}, term ${hello.value?.epoch}` : reason} role="status">
    <span class="dot" aria-hidden="true"></span>${text}</span>`;
}

function Search() {
  const [text, setText] = useState("");
  const submit = event => {
    event.preventDefault();
    const word = text.trim();
    if (!word) return;
    if (/^\d+$/.test(word)) go(["jobs", word]);
    else go(["jobs"], { q: word });
    setText("");
    document.activeElement?.blur();
  };
  return html`<form class="search" role="search" onSubmit=${submit}>
    <input id="search" type="search" aria-label="Jump to a job by number, or filter jobs"
    placeholder="Job number or words  /" value=${text} onInput=${e => setText(e.currentTarget.value)} /></form>`;
}

function Trouble() {
  useSeconds();
  const f = farm.value,
    cut = link.value.state === "cut";
  return html`${
    cut &&
    html`<div class="banner">Cut off: ${plain(link.value.reason)}. What you see
    is ${span((Date.now() - link.value.at) / 1000)} old; the page tries again by itself.</div>`
  }
    ${
      outdated.value &&
      html`<div class="banner">The farm has another version of this page now. ${
        secure
          ? html`<button type="button" class="quiet"
      onClick=${() => location.reload()}>Load it</button> It asks you to log in; what is typed into a form is kept.`
          : html`Run <code>qb open</code> for it; what is typed into a form here stays here.`
      }</div>`
    }
    ${f?.trouble && html`<div class="banner">${plain(sentence(f.trouble))}</div>`}
    ${
      f?.brake &&
      html`<div
      class="banner">Items of silent hosts are not moved: ${plain(f.brake)} <code>qbadmin brake release</code> moves
      them.</div>`
    }`;
}

function LogIn() {
  const { path, query } = route.value,
    view = path.length && !path[0].startsWith("code=") ? ` ${quoted(to(path, Object.fromEntries(query)))}` : "";
  return html`<div class="login"><div class="card">
    <h1><span class="logo" aria-hidden="true"></span>qb</h1>
    ${signedOut.value && html`<p class="field-error" role="alert">${plain(signedOut.value)}</p>`}
    <p>Run <code>qb open${plain(view)}
      </code> where you are logged in to the farm, and open the link that it prints. Each link is for one tab; a tab
      that is loaded again needs another.</p>
    ${
      secure
        ? html`<${Token} />`
        : html`<p class="note">This page never asks for a token or a password: on this machine another program may have
      the address after the farm has ended.</p>`
    }</div></div>`;
}

function Token() {
  const [text, setText] = useState(""),
    [busy, setBusy] = useState(false);
  const submit = async event => {
    event.preventDefault();
    setBusy(true);
    try {
      await begin(text);
    } catch (error) {
      signedOut.value = error.message;
    }
    setText("");
    setBusy(false);
  };
  return html`<form onSubmit=${submit}>
    <label class="field"><span class="label">Or paste a token</span>
      <input type="password" autocomplete="off" spellcheck="false" autofocus value=${text}
      onInput=${e => setText(e.currentTarget.value)} placeholder="qb_…" /></label>
    <button type="submit" class="primary" disabled=${busy || !text.trim()}>${busy ? "Logging in…" : "Log in"}</button>
    <p class="note">The token is traded for a session of 12 hours and not kept.</p></form>`;
}

function App() {
  if (!me.value) return html`<${LogIn} />`;
  const { path } = route.value;
  document.title =
    path[0] === "jobs" && path[1]
      ? `${path[1]} ${plain(jobs.value.get(Number(path[1]))?.name ?? "")} – qb`
      : `${places.find(([p]) => p === (path[0] ?? ""))?.[1] ?? "qb"} – qb`;
  return html`<header class="top"><a class="brand" href=${to([])}><span class="logo" aria-hidden="true"></span>qb</a>
      <nav aria-label="Views">
        ${places
          .filter(([place]) => place !== "history" || may("history"))
          .map(
            ([place, label]) =>
              html`<a href=${to(place ? [place] : [])} aria-current=${(path[0] ?? "") === place ? "page" : undefined}>
                ${label}
        </a>`,
          )}</nav>
      <${Search} /><span class="spring"></span><${Live} />
      ${
        bells.value.fresh > 0 &&
        html`<a class="undo" href=${to(["notices"])} title="Notices that you have not seen">Notices ${bells.value.fresh}
        </a>`
      }
      ${
        undoable.value > 0 &&
        html`<a class="undo" href=${to(["undo"])} title="What can still be undone; u">↶ ${undoable.value}</a>`
      }
      <button type="button" class="plain" title="Dark or light" aria-label="Dark or light" onClick=${turn}>
        ${theme.value === "dark" ? "☀" : "☾"}</button>
      <a class="user" href=${to(["me"])}><bdi>${plain(me.value.user)}</bdi>
        <span class="muted hide-small"> ${me.value.role}</span></a></header>
    <${Trouble} /><main class=${link.value.state === "cut" ? "stale" : ""}>${view(path)}</main><${Notices} />
      <${Question} />`;
}

/** inside follows a link to a view in this tab, where a browser would open another: a session is one document's. */
function inside(event) {
  const link = event.target.closest?.("a[href^='#']");
  if (!me.value || !link || !(event.button === 1 || event.ctrlKey || event.metaKey || event.shiftKey)) return;
  event.preventDefault();
  location.hash = link.getAttribute("href");
  say("opened here: another tab needs a link of its own, from qb open");
}
addEventListener("click", inside);
addEventListener("auxclick", inside);

let before = "";
addEventListener("keydown", event => {
  if (
    !me.value ||
    event.ctrlKey ||
    event.metaKey ||
    event.altKey ||
    /INPUT|SELECT|TEXTAREA/.test(event.target.tagName) ||
    document.querySelector("dialog")
  )
    return;
  const after = before;
  before = event.key;
  if (after === "g") {
    const place = {
      f: [],
      j: ["jobs"],
      h: ["hosts"],
      w: ["what-if"],
      r: ["reports"],
      s: ["submit"],
      t: ["share"],
      y: ["history"],
      m: ["slots"],
    }[event.key];
    if (place) go(place);
  } else if (event.key === "u") {
    go(["undo"]);
  } else if (event.key === "/") {
    event.preventDefault();
    (document.getElementById("filter") ?? document.getElementById("search")).focus();
  } else if (event.key === "?") {
    import("./me.js").then(({ keys }) =>
      confirm({ title: "Keys", list: keys.map(([key, what]) => `${key}: ${what}`), label: "Close" }),
    );
  }
});

addEventListener("hashchange", start); // a link of qb open that is followed in this tab
await start();
if (kept.getItem("qb-bells")) import("./bell.js");
render(html`<${App} />`, document.body);
