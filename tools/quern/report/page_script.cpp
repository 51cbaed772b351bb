#include "report/page_parts.h"

namespace quern::tool::report {

const std::string_view kScript = R"js(
"use strict";
(() => {
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  document.body.append(tip);

  // Each sweep has {axes: [{name, values}], configs: {index: [us, value...]}} for what is drawn.
  const set_up = section => {
    const source = section.querySelector("script[type='application/json']");
    if (!source) return;
    const {axes, configs} = JSON.parse(source.textContent);
    const drawn = new Map();
    for (const mark of section.querySelectorAll("[data-i]")) {
      if (!drawn.has(mark.dataset.i)) drawn.set(mark.dataset.i, []);
      drawn.get(mark.dataset.i).push(mark);
    }
    let hot = null;
    const light = index => {
      if (index === hot) return;
      for (const mark of drawn.get(hot) || []) mark.classList.remove("hot");
      for (const mark of drawn.get(index) || []) mark.classList.add("hot");
      hot = index;
    };
    const describe = index => {
      const [us, ...values] = configs[index];
      const words = axes.map((axis, i) => axis.name + "=" + (values[i] < 0 ? "?" : axis.values[values[i]]));
      return us + " \u00b5s: " + words.join(" ");
    };
    section.addEventListener("pointerover", event => {
      const mark = event.target.closest("[data-i]");
      const index = mark && configs[mark.dataset.i] ? mark.dataset.i : null;
      light(index);
      tip.hidden = index === null || mark.tagName === "TR";
      if (index !== null) tip.textContent = describe(index);
    });
    section.addEventListener("pointermove", event => {
      const right = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
      const below = event.clientY + 18 + tip.offsetHeight < window.innerHeight;
      tip.style.left = Math.max(right, 8) + "px";
      tip.style.top = (below ? event.clientY + 18 : event.clientY - tip.offsetHeight - 12) + "px";
    });
    section.addEventListener("pointerleave", () => { light(null); tip.hidden = true; });
    add_filter(section, axes, configs, drawn);
  };

  const add_filter = (section, axes, configs, drawn) => {
    const bar = document.createElement("form");
    bar.className = "filter";
    bar.setAttribute("aria-label", "Show configs with these values");
    const selects = axes.map(axis => {
      const label = document.createElement("label");
      const select = document.createElement("select");
      for (const text of ["any", ...axis.values]) select.add(new Option(text));
      label.append(axis.name + " ", select);
      if (axis.values.length > 1) bar.append(label);
      return select;
    });
    const reset = document.createElement("button");
    reset.type = "reset";
    reset.textContent = "Show all";
    bar.append(reset);
    const apply = () => {
      for (const [index, marks] of drawn) {
        const values = (configs[index] || []).slice(1);
        const fits = selects.every((select, i) => select.selectedIndex <= 0 || values[i] === select.selectedIndex - 1);
        for (const mark of marks) mark.classList.toggle("off", !fits);
      }
    };
    bar.addEventListener("change", apply);
    bar.addEventListener("reset", () => setTimeout(apply));
    section.querySelector(".charts").before(bar);
  };

  // A file in the page is gzipped: it is saved unpacked, if the browser can unpack it.
  const unpack = async event => {
    const link = event.currentTarget;
    if (!window.DecompressionStream) return;
    event.preventDefault();
    const packed = await (await fetch(link.href)).blob();
    const text = await new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).blob();
    const saved = document.createElement("a");
    saved.href = URL.createObjectURL(text);
    saved.download = link.download.replace(/[.]gz$/, "");
    saved.click();
    setTimeout(() => URL.revokeObjectURL(saved.href), 60000);
  };

  for (const link of document.querySelectorAll("a.download")) link.addEventListener("click", unpack);
  document.querySelectorAll("section.sweep").forEach(set_up);
})();
)js";

}  // namespace quern::tool::report
