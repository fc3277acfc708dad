import type { DrainReport } from "@lameduck/operator";
import { figuresOf } from "./figures.ts";
import type { Asked } from "./text.ts";

/** As the cluster keeps them, without what only the API server needs. */
export function reportsJson(reports: readonly DrainReport[], { namespace, since }: Asked): unknown {
  return {
    namespace,
    since,
    figures: figuresOf(reports),
    reports: reports.map(({ metadata, ...rest }) => ({
      name: metadata.name,
      ...rest,
    })),
  };
}
