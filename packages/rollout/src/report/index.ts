export { htmlReport } from "./html/page.ts";
export { junitReport, type JunitOptions } from "./junit.ts";
export { markdownReport } from "./markdown.ts";
export { comparisonText, type TextOptions } from "./table.ts";
export { heldAgainstPods, lossless, verdictOf, type Verdict } from "./verdict.ts";
export type { Wording } from "./wording.ts";
export { whyOf, type Why } from "./why.ts";
