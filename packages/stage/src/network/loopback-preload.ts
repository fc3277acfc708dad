/**
 * Loaded into Node programs on the shared loopback (NODE_OPTIONS): whatever host and port they listen on, their own pod's is meant.
 * It imports nothing of Lameduck, because it runs inside the user's program.
 */
import { Server, type ListenOptions } from "node:net";

interface Moved {
  readonly host: string;
  readonly ports: Readonly<Record<string, number>>;
}

const text = process.env["LAMEDUCK_LOOPBACK"];
if (text) moveListeners(JSON.parse(text) as Moved);

function moveListeners({ host, ports }: Moved): void {
  // oxlint-disable-next-line typescript/unbound-method -- called with the server it was called on
  const listen = Server.prototype.listen;
  const moved = (port: number | undefined): number =>
    port === undefined ? 0 : (ports[String(port)] ?? port);
  Server.prototype.listen = function (this: Server, ...args: unknown[]): Server {
    const [first, ...rest] = args;
    const call = (...now: unknown[]): Server => Reflect.apply(listen, this, now) as Server;
    if (isPort(first)) {
      // listen(port, host, backlog, callback): a host given is replaced, one not given is put in.
      if (typeof rest[0] === "string" || rest[0] === undefined) rest.shift();
      return call(moved(Number(first)), host, ...rest);
    }
    if (typeof first === "object" && first !== null && "port" in first) {
      const options = first as ListenOptions;
      return call({ ...options, port: moved(options.port), host }, ...rest);
    }
    return call(...args);
  } as typeof listen;
}

function isPort(value: unknown): boolean {
  return (typeof value === "number" || typeof value === "string") && /^\d+$/.test(String(value));
}
