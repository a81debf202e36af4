"use strict";
// The search: all sections that have all the words, the best first. The data are a script of their own, loaded when somebody begins to type.
(function () {
  const top = document.documentElement.dataset.top;
  const form = document.getElementById("search");
  const input = document.getElementById("words");
  const found = document.getElementById("found");
  const most = 20;
  let loading = null;
  let chosen = -1;

  function load() {
    loading ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = top + "search-data.js";
      script.onload = () => resolve(window.weirSearch.map(([url, page, heading, text]) => ({
        url, page, heading, text, inPage: page.toLowerCase(), inHeading: heading.toLowerCase(), inText: text.toLowerCase(),
      })));
      script.onerror = reject;
      document.head.append(script);
    });
    return loading;
  }

  // A word in a heading says more than one in the text, a whole word more than a part, and the name of a type is looked for most.
  function score(entry, word) {
    let points = 0;
    if (entry.inPage === word) points += 60;
    if (entry.inHeading === word) points += 40;
    if (entry.inPage.includes(word)) points += 12;
    if (entry.inHeading.includes(word)) points += 20;
    const at = entry.inText.indexOf(word);
    if (at >= 0) points += 3;
    return points;
  }

  function find(entries, words) {
    const hits = [];
    for (const entry of entries) {
      let sum = 0;
      for (const word of words) {
        const points = score(entry, word);
        if (points === 0) { sum = 0; break; }
        sum += points;
      }
      // The pages of types are many, short and named after what they are about: they come first only if a type's whole name was typed.
      const named = entry.url.startsWith("docs/api/") && !words.includes(entry.inPage);
      if (sum > 0) hits.push({ entry, sum: named ? sum * 0.4 : sum });
    }
    return hits.sort((a, b) => b.sum - a.sum).slice(0, most).map(hit => hit.entry);
  }

  function excerpt(entry, words) {
    const at = Math.max(0, Math.min(...words.map(w => entry.inText.indexOf(w)).filter(i => i >= 0).concat(Infinity)) - 40);
    return at === Infinity ? entry.text.slice(0, 140) : (at > 0 ? "… " : "") + entry.text.slice(at, at + 140);
  }

  function show(hits, words) {
    chosen = -1;
    found.replaceChildren();
    for (const hit of hits) {
      const link = document.createElement("a");
      link.href = top + hit.url;
      link.setAttribute("role", "option");
      const title = document.createElement("strong");
      title.textContent = hit.heading === hit.page ? hit.page : hit.page + " › " + hit.heading;
      const text = document.createElement("span");
      text.textContent = excerpt(hit, words);
      link.append(title, text);
      found.append(link);
    }
    if (hits.length === 0) {
      const none = document.createElement("p");
      none.textContent = "Nothing has all of these words.";
      found.append(none);
    }
    found.hidden = false;
  }

  async function search() {
    const words = input.value.toLowerCase().split(/\s+/).filter(word => word.length > 1);
    if (words.length === 0) { found.hidden = true; return; }
    const entries = await load();
    show(find(entries, words), words);
  }

  function choose(step) {
    const links = found.querySelectorAll("a");
    if (links.length === 0) return;
    chosen = (chosen + step + links.length) % links.length;
    links.forEach((link, i) => link.setAttribute("aria-selected", i === chosen));
    links[chosen].scrollIntoView({ block: "nearest" });
  }

  input.addEventListener("input", search);
  form.addEventListener("submit", event => {
    event.preventDefault();
    const link = found.querySelectorAll("a")[Math.max(0, chosen)];
    if (link && !found.hidden) location.href = link.href;
  });
  document.addEventListener("keydown", event => {
    if (event.key === "/" && document.activeElement !== input) { event.preventDefault(); input.focus(); }
    if (event.key === "Escape") { found.hidden = true; input.blur(); }
    if (document.activeElement !== input) return;
    if (event.key === "ArrowDown") { event.preventDefault(); choose(1); }
    if (event.key === "ArrowUp") { event.preventDefault(); choose(-1); }
  });
  document.addEventListener("click", event => { if (!form.contains(event.target)) found.hidden = true; });

  // A search can be linked to.
  const asked = new URLSearchParams(location.search).get("q");
  if (asked) { input.value = asked; search(); }

  // Each block of code has a button that copies it. A page from a folder may not use the clipboard everywhere: then the code is selected, to be copied by hand.
  for (const block of document.querySelectorAll("main pre")) {
    const frame = document.createElement("div");
    frame.className = "block";
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    block.replaceWith(frame);
    frame.append(block, button);
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(block.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(block);
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  }

  // Wide screens have room for the contents of the page at their side.
  const contents = document.querySelector(".contents details");
  if (contents && matchMedia("(min-width: 84rem)").matches) contents.open = true;

  // Wide screens show the menu as it is; on narrow ones it opens.
  const pages = document.querySelector("nav.menu details");
  if (pages && matchMedia("(min-width: 60rem)").matches) {
    pages.open = true;
    const here = pages.querySelector("[aria-current]");
    if (here) pages.parentElement.scrollTop = here.offsetTop - pages.parentElement.offsetTop - pages.parentElement.clientHeight / 2;
  }
})();
