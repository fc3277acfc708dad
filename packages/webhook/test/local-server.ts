import type { AdmissionServer } from "../src/admission/server.ts";
import { rotate } from "../src/certificates/rotate.ts";

export interface LocalServer {
  readonly port: number;
  /** The certificate of the authority. */
  readonly ca: string;
}

/** Lets a server listen on loopback, with a certificate for "localhost". */
export async function listenLocally(server: AdmissionServer): Promise<LocalServer> {
  const lifetimes = { certificateLifetime: 3_600_000, authorityLifetime: 3_600_000 };
  const names = ["localhost"];
  const { authority, leaf } = await rotate(undefined, Date.now(), { names, ...lifetimes }, () => true);
  server.useCertificate(leaf);
  return { port: await server.listen(0, "127.0.0.1"), ca: authority.cert };
}
