/** What pages of other packages are made of. It loads no schema of results: the audit of a file needs none. */
export { htmlPage } from "./report/html/page.ts";
export * from "./report/markup.ts";
