/**
 * Writes the parts of the chart that the code determines: rights, webhooks, CRD and policy. A test keeps them equal.
 *
 *     node packages/operator/chart/generate.ts
 */
import { writeFileSync } from "node:fs";
import { generated } from "./generated.ts";

for (const [path, text] of generated()) writeFileSync(path, text);
