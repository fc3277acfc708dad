import type * as http from "node:http";

/** An import of node:http reads all that it exports. That loads `fetch` and WebSocket, which costs a program 45 ms at its start. */
export const { IncomingMessage, request, Server, ServerResponse } = process.getBuiltinModule("node:http");
export type IncomingMessage = http.IncomingMessage;
export type ServerResponse = http.ServerResponse;
export type Server = http.Server;
