/** The program. */
export { watcher } from "./watcher.ts";
