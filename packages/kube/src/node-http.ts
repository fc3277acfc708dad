import type * as http from "node:http";

/** An import of node:http reads all that it exports. That loads `fetch` and WebSocket, which takes longer than starting Node. */
export const { Agent, createServer, request } = process.getBuiltinModule("node:http");
export type Agent = http.Agent;
