import { fileURLToPath } from "node:url";

export const program = fileURLToPath(new URL("../bin/lameduck.js", import.meta.url));
