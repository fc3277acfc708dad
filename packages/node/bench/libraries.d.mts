import type { Server } from "node:http";

export const libraries: Record<string, (server: Server, delay?: number) => unknown>;
