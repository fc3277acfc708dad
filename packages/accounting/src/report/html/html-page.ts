import { escape } from "../markup.ts";

/** A page in the reports' style, of parts that are markup already. */
export function htmlPage(heading: string, parts: readonly string[]): string {
  return [
    "<!doctype html>",
    '<html lang="en">',
    '<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>Lameduck: ${escape(heading)}</title><style>${style}</style></head>`,
    "<body><main>",
    ...parts,
    "</main></body></html>\n",
  ].join("\n");
}

/** Colours keep their meaning without their hue: lost requests are the only round marks, races the only hatch-dark bars. */
const style = `
:root {
  color-scheme: light dark;
  --ground: #fff; --raised: #f6f7f9; --ink: #1b1f24; --soft: #5c6570; --line: #d9dee4;
  --pre-stop: #a9b4c2; --serving: #3b7dd8; --closing: #e0a526; --sender: #7fb8a4; --raced: #f0a8a0; --lost: #c22e22;
  --good: #1a7f45; --bad: #c22e22; --warn: #9a6700; --oracle: #3b7dd81c;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #14171b; --raised: #1d2127; --ink: #e6e9ee; --soft: #9aa4b1; --line: #343b44;
    --pre-stop: #5d6876; --serving: #5b96e8; --closing: #d39a2a; --sender: #3f7d69; --raced: #8c3f38; --lost: #ff6b5e;
    --good: #4cc47d; --bad: #ff7b6f; --warn: #e0b050; --oracle: #5b96e82b;
  }
}
* { box-sizing: border-box }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 74rem; background: var(--ground); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif }
h1 { font-size: 1.7rem; margin: 0 0 .25rem } h2 { font-size: 1.25rem; margin: 2.5rem 0 .5rem } h3 { font-size: 1rem; margin: 1.5rem 0 .25rem }
p { margin: .4rem 0 } .soft, .quiet { color: var(--soft) } .advice { font-size: 1.1rem; padding: .8rem 1rem; margin: 1.2rem 0;
  background: var(--raised); border-left: 4px solid var(--serving); border-radius: 4px }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: .92rem }
caption { text-align: left; color: var(--soft); padding-bottom: .4rem; font-size: .88rem }
a { color: inherit; text-decoration-color: var(--soft); text-underline-offset: 3px }
th, td { padding: .35rem .6rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap }
th:first-child, td:first-child, th.text, td.text { text-align: left } td.text { white-space: normal }
thead th { color: var(--soft); font-weight: 600; vertical-align: bottom } tbody tr:hover { background: var(--raised) }
.scroll { overflow-x: auto }
.verdict { font-weight: 600 } .no-loss { color: var(--good) } .loses { color: var(--bad) } .overruns, .untested { color: var(--warn) } .skipped { color: var(--soft) }
section { border-top: 1px solid var(--line); margin-top: 2.5rem } section h2 { margin-top: 1.25rem }
.causes { list-style: none; padding: 0; margin: .6rem 0 } .causes li { margin: .55rem 0; display: grid; grid-template-columns: 5.5rem 1fr; gap: .2rem .8rem }
.causes .number { text-align: right; font-weight: 600; color: var(--bad); font-variant-numeric: tabular-nums }
.meter { grid-column: 2; height: 4px; background: var(--line); border-radius: 2px } .meter i { display: block; height: 100%; background: var(--lost); border-radius: 2px }
.example { grid-column: 2; color: var(--soft); font-size: .9rem }
figure { margin: 1rem 0 } figcaption { font-size: .9rem; color: var(--soft); margin-bottom: .2rem } figcaption b { color: var(--ink) }
svg { width: 100%; height: auto; display: block; font: 12px system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif; fill: var(--ink) }
svg .axis text, svg .quiet { fill: var(--soft) } svg .grid { stroke: var(--line); stroke-width: 1 } svg .zero { stroke: var(--soft); stroke-width: 1 }
svg .oracle { fill: var(--oracle) } svg .whisker { stroke: currentColor; stroke-width: 1.5; opacity: .55 } svg .remedy circle { fill: currentColor; stroke: var(--ground); stroke-width: 1.5 }
svg .name { font-weight: 600; paint-order: stroke; stroke: var(--ground); stroke-width: 4px; stroke-linejoin: round } svg .bar.pre-stop { fill: var(--pre-stop) } svg .bar.serving { fill: var(--serving) } svg .bar.closing { fill: var(--closing) }
svg .bar.sender { fill: var(--sender) } svg .bar.raced { fill: var(--raced) } svg .lost { fill: var(--lost); fill-opacity: .8; stroke: var(--ground); stroke-width: .75 }
svg .moment { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 3 3 } svg .moment.closed, svg .moment.killed, svg .moment.phase { stroke: var(--lost); stroke-dasharray: none }
svg text.moment-label { stroke: none; fill: var(--soft) } svg text.closed, svg text.killed, svg text.phase { fill: var(--lost) }
.legend { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; font-size: .88rem; color: var(--soft); padding: 0; margin: .5rem 0; list-style: none }
.legend i { display: inline-block; width: 1.4rem; height: .7rem; border-radius: 2px; margin-right: .4rem; vertical-align: baseline }
.legend i.dot { width: .7rem; border-radius: 50% } svg.sample { display: inline-block; width: 2.5rem; height: .5rem; margin-right: .4rem; vertical-align: middle }
details { margin: .6rem 0 } summary { cursor: pointer; color: var(--soft) }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; font-size: .88rem; margin: .5rem 0 } dt { color: var(--soft) } dd { margin: 0; overflow-wrap: anywhere }
fieldset { border: 0; padding: 0; margin: .4rem 0; font-size: .88rem; color: var(--soft) } fieldset label { margin-right: .9rem; white-space: nowrap }
code { overflow-wrap: anywhere }
.picture { overflow-x: auto }
@media screen and (max-width: 44rem) {
  .picture svg { min-width: 44rem } .causes li { grid-template-columns: 2.8rem 1fr }
  .scroll th:first-child { position: sticky; left: 0; background: var(--ground) }
}
@media print {
  body { max-width: none; padding: 0; font-size: 10pt; print-color-adjust: exact; -webkit-print-color-adjust: exact }
  details:not([open], .meanings) { display: none } .meanings::details-content { content-visibility: visible; height: auto }
  h1, h2, h3, figcaption, summary { break-after: avoid } li, section > p { break-inside: avoid } fieldset { display: none }
  .scroll, .picture { overflow: visible } table { font-size: 7pt } th, td { white-space: normal; padding: .2rem .3rem; overflow-wrap: anywhere }
  figure, tr { break-inside: avoid }
}
`;
