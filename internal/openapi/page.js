"use strict";
// Without this script the page lists everything; with it, a search hides operations that do not match.
const find = document.getElementById("find");
const found = document.getElementById("found");
const operations = [...document.querySelectorAll("article")].map(at => ({ at, text: at.dataset.find.toLowerCase() }));
const groups = [...document.querySelectorAll("[data-group]")];
const rest = [...document.querySelectorAll("[data-rest]")];
function search() {
  const words = find.value.toLowerCase().split(/\s+/).filter(word => word);
  let n = 0;
  for (const { at, text } of operations) {
    at.hidden = !words.every(word => text.includes(word));
    if (!at.hidden) n++;
  }
  for (const group of groups) group.hidden = words.length > 0 && !group.querySelector('article:not([hidden=""])');
  for (const part of rest) part.hidden = words.length > 0;
  found.textContent = words.length === 0 ? "" : n === 1 ? "1 endpoint found" : n + " endpoints found";
}
document.getElementById("search").hidden = false;
find.addEventListener("input", search);
document.addEventListener("keydown", event => {
  if (event.key === "/" && document.activeElement !== find && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    find.focus();
  } else if (event.key === "Escape" && document.activeElement === find) {
    find.value = "";
    search();
  }
});
// A link to an endpoint leads to it, also during a search.
addEventListener("hashchange", () => {
  const target = document.getElementById(location.hash.slice(1));
  if (target && target.closest('[hidden=""]')) {
    find.value = "";
    search();
    target.scrollIntoView();
  }
});
for (const origin of document.querySelectorAll(".origin")) origin.textContent = location.origin;
if (navigator.clipboard) {
  for (const button of document.querySelectorAll("button.copy")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.from).textContent);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  }
}
