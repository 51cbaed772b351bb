#include "report/page_parts.h"

namespace quern::tool::report {

// Blue and vermilion are distinguishable with any colour vision; shapes and words repeat their meaning. The shades of
// the parallel coordinates run from the strongest contrast (best) to the weakest, in light and in dark mode.
const std::string_view kStyle = R"css(
:root {
  color-scheme: light dark;
  --page: #ffffff; --raised: #f5f7f9; --ink: #16191d; --soft: #57606b; --faint: #7b8591;
  --rule: #dfe3e8; --grid: #eceff2; --blue: #0a66b0; --red: #c44a00; --point: #7d8fa3; --bar: #9db6cf;
  --shade: #16191d3d; --box: #0a66b026; --band: #0a66b01c; --link: #0a58a0;
  --s0: #00224e; --s1: #1d4673; --s2: #4a6a8f; --s3: #7f92a6; --s4: #aab3bc; --s5: #c9cfd5; --s6: #e0e4e8;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #121519; --raised: #1b2026; --ink: #e9ecef; --soft: #a9b2bc; --faint: #87919c;
    --rule: #313840; --grid: #22282e; --blue: #5cb3ef; --red: #ff9650; --point: #7489a0; --bar: #4a6c8d;
    --shade: #ffffff4d; --box: #5cb3ef30; --band: #5cb3ef24; --link: #7cc0f2;
    --s0: #ffe97a; --s1: #d9c874; --s2: #aca270; --s3: #80806e; --s4: #5b6268; --s5: #414a54; --s6: #2d353e;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0 auto; padding: 2.5rem 1.25rem 4rem; max-width: 72rem; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif;
  font-variant-numeric: tabular-nums;
}
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .25rem; letter-spacing: -.01em; }
h2 { font-size: 1.35rem; line-height: 1.25; margin: 0; overflow-wrap: anywhere; }
h3 { font-size: 1.05rem; margin: 2.5rem 0 .75rem; }
p { margin: .5rem 0; max-width: 46rem; }
a { color: var(--link); }
code { font: .9em ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
.soft { color: var(--soft); }
section { margin-top: 3.5rem; padding-top: 1.5rem; border-top: 2px solid var(--ink); }
section.sweep > .soft { margin-top: .25rem; }
.verdict { font-size: 1.15rem; line-height: 1.45; margin: 1rem 0; }
.note { border-left: 3px solid var(--red); padding-left: .75rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: 1px; margin: 1.25rem 0; }
.tiles div { padding: .7rem .9rem; box-shadow: 0 0 0 1px var(--rule); }
.tiles dt { color: var(--soft); font-size: .8rem; }
.tiles dd { margin: 0; font-size: 1.35rem; line-height: 1.3; white-space: nowrap; }
.tiles dd small { font-size: .8rem; color: var(--soft); display: block; white-space: normal; }
.scroll { overflow-x: auto; background: linear-gradient(90deg, var(--page) 40%, transparent) 0 0 / 3rem 100% no-repeat local,
  linear-gradient(270deg, var(--page) 40%, transparent) 100% 0 / 3rem 100% no-repeat local,
  linear-gradient(90deg, var(--shade), transparent) 0 0 / 1rem 100% no-repeat scroll,
  linear-gradient(270deg, var(--shade), transparent) 100% 0 / 1rem 100% no-repeat scroll; }
table { border-collapse: collapse; font-size: .82rem; }
th, td { padding: .3rem .6rem .3rem 0; text-align: left; vertical-align: baseline; border-bottom: 1px solid var(--rule); }
thead th { color: var(--soft); font-weight: 600; vertical-align: bottom; border-bottom-color: var(--faint); }
th.n, td.n { text-align: right; padding-left: .2rem; }
td.n { white-space: nowrap; }
td.nowrap { white-space: nowrap; }
th .unit { font-weight: 400; }
tr.winner td { font-weight: 600; }
td.any { color: var(--faint); }
td.changed { color: var(--red); font-weight: 600; }
.badge { font-size: .75rem; font-weight: 600; white-space: nowrap; }
.badge.w { color: var(--red); } .badge.d { color: var(--blue); } .badge.r { color: var(--soft); }
dl.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); gap: 0 2rem; margin: 0;
  font-size: .88rem; }
dl.facts div { display: flex; gap: .75rem; padding: .28rem 0; border-bottom: 1px solid var(--rule); }
dl.facts dt { color: var(--soft); flex: 0 0 6.6rem; }
dl.facts dd { margin: 0; overflow-wrap: anywhere; }
dl.facts div.long { grid-column: 1 / -1; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 26rem), 1fr)); gap: 2rem; }
.charts.small { grid-template-columns: repeat(auto-fill, minmax(min(100%, 19rem), 1fr)); }
figure { margin: 0; min-width: 0; }
figure.wide { margin-top: 2rem; }
figcaption { font-size: .82rem; line-height: 1.45; color: var(--soft); margin-bottom: .5rem; }
figcaption b { display: block; color: var(--ink); font-size: .95rem; }
.charts.small figure { display: flex; flex-direction: column; justify-content: space-between; }
.share { color: var(--ink); }
svg { display: block; width: 100%; height: auto; overflow: visible; }
figure.wide svg { min-width: 46rem; }
svg text { font-size: 11.5px; fill: var(--soft); font-variant-numeric: tabular-nums; }
svg .end { text-anchor: end; } svg .middle { text-anchor: middle; }
svg .title { fill: var(--ink); }
svg .mark { fill: var(--ink); font-weight: 600; }
svg .strong { fill: var(--ink); font-weight: 700; } svg .faint { fill: var(--faint); }
svg .halo { paint-order: stroke; stroke: var(--page); stroke-width: 4px; stroke-linejoin: round; }
svg .plate { fill: var(--page); fill-opacity: .88; }
svg .beyond { fill: none; stroke: var(--faint); stroke-width: .8; stroke-opacity: .7; }
svg .grid { stroke: var(--grid); } svg .axis { stroke: var(--faint); }
svg .rule { stroke-width: 1.4; stroke-dasharray: 5 3; fill: none; }
svg .point { fill: var(--point); fill-opacity: .55; } svg .solid { fill-opacity: 1; }
svg .winner { fill: var(--red); stroke: var(--red); } svg .default { fill: var(--page); stroke: var(--blue); stroke-width: 2; }
svg .spill { fill: none; stroke: var(--point); stroke-width: 1.2; }
svg .best { fill: none; stroke: var(--red); stroke-width: 1.8; }
svg .failed { stroke: var(--faint); stroke-width: .8; }
svg .bar { fill: var(--bar); } svg .band { fill: var(--band); }
svg .box { fill: var(--box); stroke: var(--blue); } svg .whisker { stroke: var(--blue); }
svg .median { stroke: var(--blue); stroke-width: 2.4; } svg .marginal { fill: var(--red); }
svg .interval { stroke: var(--soft); stroke-width: 2; } svg .interval.winner { stroke: var(--red); stroke-width: 3; }
svg .path { fill: none; stroke-width: 1.1; stroke-opacity: .8; } svg .top { stroke: var(--red); stroke-width: 2.6; stroke-opacity: 1; }
.s0 { stroke: var(--s0); background: var(--s0); } .s1 { stroke: var(--s1); background: var(--s1); }
.s2 { stroke: var(--s2); background: var(--s2); } .s3 { stroke: var(--s3); background: var(--s3); }
.s4 { stroke: var(--s4); background: var(--s4); } .s5 { stroke: var(--s5); background: var(--s5); }
.s6 { stroke: var(--s6); background: var(--s6); }
.key { white-space: nowrap; margin-right: .5rem; }
.key i { display: inline-block; width: 1.1em; height: .7em; margin-right: .3em; }
.filter { display: flex; flex-wrap: wrap; gap: .5rem 1rem; font-size: .85rem; position: sticky; top: 0; z-index: 1;
  background: var(--page); padding: .5rem 0; }
.filter select, .filter button { font: inherit; color: inherit; background: var(--raised); border: 1px solid var(--rule);
  border-radius: 3px; padding: .1rem .3rem; }
a.download { display: inline-block; border: 1px solid var(--rule); border-radius: 3px; padding: .15rem .6rem; text-decoration: none;
  background: var(--raised); font-size: .88rem; }
[data-i] { cursor: crosshair; }
svg .off { opacity: .04; } tr.off { opacity: .25; }
svg .hot { fill: var(--ink); fill-opacity: 1; stroke: var(--ink); stroke-width: 2; stroke-opacity: 1; opacity: 1; }
svg polyline.hot { fill: none; stroke-width: 3; }
tr.hot td { background: var(--raised); }
#tip { position: fixed; z-index: 2; pointer-events: none; max-width: 22rem; padding: .4rem .6rem; background: var(--ink);
  color: var(--page); font-size: .8rem; line-height: 1.4; border-radius: 3px; }
@media (max-width: 40rem) {
  body { padding: 1.25rem 1rem 3rem; }
  .tiles { grid-template-columns: 1fr 1fr; }
  .filter { position: static; }
}
@media print {
  body { max-width: none; padding: 0; font-size: 11px; }
  section { break-before: page; } h3, section > .soft { break-after: avoid; }
  table { font-size: 8.5px; } th, td { padding: .15rem .35rem .15rem 0; } figure, tr, .tiles { break-inside: avoid; }
  .filter, #tip, a.download { display: none; } .scroll { overflow: visible; background: none; } figure.wide svg { min-width: 0; }
  .charts { grid-template-columns: 1fr 1fr; } .charts.small { grid-template-columns: 1fr 1fr 1fr; }
}
)css";

}  // namespace quern::tool::report
