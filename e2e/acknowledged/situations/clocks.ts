import { type Cluster } from "../../cluster/index.ts";
import { around } from "./around.ts";
import { changePartly, withNodeOption } from "./partly.ts";

/** Milliseconds, as an NTP client that has lost its servers may be wrong. */
const wrong = 5_000;

/** Neither the first nor the last of five, so that both a fast and a slow proxy is among them. */
const behindNodes = ({ nodeNames }: Pick<Cluster, "nodeNames">): readonly string[] => [
  nodeNames[1] ?? "",
  nodeNames.at(-1) ?? "",
];

/**
 * An option of Node by which `Date` and performance.timeOrigin are wrong by some milliseconds, and performance.now is not: as on a node whose
 * clock is. By the name of the node in NODE_NAME, or else by `otherwise`.
 */
export function wrongClock(byNode: Readonly<Record<string, number>>, otherwise = 0): string {
  const code = `const by=${JSON.stringify(byNode)}[process.env.NODE_NAME]??${otherwise},D=Date,now=()=>D.now()+by;
globalThis.Date=new Proxy(D,{construct:(d,a,t)=>Reflect.construct(d,a.length>0?a:[now()],t),apply:()=>new D(now()).toString(),get:(d,k)=>k==="now"?now:Reflect.get(d,k)});
Object.defineProperty(performance,"timeOrigin",{value:performance.timeOrigin+by});`;
  return `--import=data:text/javascript,${encodeURIComponent(code)}`;
}

/** All pods of a node are wrong alike: those of two are behind, and one is ahead. */
const byNode = { node2: -wrong, node3: wrong, node5: -wrong };

/** Pods of the library are Node processes, and get it, too; lameduck-init is none. */
export const clocks = {
  ...around(
    "clocks",
    "one replica of the coordinator 5 s ahead, the watchers of two nodes 5 s behind, and pods of three nodes either",
    ({ cluster }) => {
      const nodes = behindNodes(cluster);
      const behind = wrongClock(Object.fromEntries(nodes.map((node) => [node, -wrong])));
      return changePartly(cluster, {
        coordinator: withNodeOption(wrongClock({}, wrong)),
        watcher: withNodeOption(behind),
        nodes,
      });
    },
  ),
  pod: {
    environment: { NODE_OPTIONS: wrongClock(byNode) },
    fields: { NODE_NAME: "spec.nodeName" },
  },
};
