/**
 * Runs inside the fabric and carries bytes from a loopback port of the host to the API server. The parent hands the listening socket over. So kubectl
 * and tests reach the cluster without any route between the host and the nodes.
 * TLS goes through untouched. Usage: gateway.ts ADDRESS PORT
 */
import { connect, createServer, type Server, type Socket } from "node:net";

const [address = "", port = ""] = process.argv.slice(2);

function carry(from: Socket): void {
  const to = connect({ host: address, port: Number(port), allowHalfOpen: true });
  for (const socket of [from, to]) socket.setNoDelay(true).on("error", () => undefined);
  from.pipe(to).on("close", () => from.destroy());
  to.pipe(from).on("close", () => to.destroy());
}

process.once("message", (_message, listener: Server) => {
  // The handed-over server object speaks for the socket; a server of our own on top allows half-open connections.
  createServer({ allowHalfOpen: true }, carry).listen(listener);
  process.send?.("listening");
});
