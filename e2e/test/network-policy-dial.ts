/**
 * Opens connections in the network namespace in which it runs, all at once, and prints which were answered, as a JSON list.
 * Usage: network-policy-dial.ts ADDRESS:PORT ... ; port "dns" asks for a name, by UDP.
 */
import { connect } from "node:net";
import { Resolver } from "node:dns/promises";

/** Longer than a first SYN that was lost takes to be sent again. */
const timeout = 2_500;

function answersTcp(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout });
    const end = (answered: boolean): void => {
      socket.destroy();
      resolve(answered);
    };
    socket.on("connect", () => end(true));
    socket.on("timeout", () => end(false));
    socket.on("error", () => end(false));
  });
}

async function answersDns(host: string): Promise<boolean> {
  const resolver = new Resolver({ timeout: timeout / 2, tries: 2 });
  resolver.setServers([host]);
  return resolver.resolve4("kubernetes.default.svc.cluster.local").then(
    () => true,
    () => false,
  );
}

const answers = await Promise.all(
  process.argv.slice(2).map((target) => {
    const [host = "", port = ""] = target.split(":");
    return port === "dns" ? answersDns(host) : answersTcp(host, Number(port));
  }),
);
process.stdout.write(JSON.stringify(answers));
