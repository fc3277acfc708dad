import { readFileSync } from "node:fs";

const read = (name: string): Buffer => readFileSync(new URL(`fixtures/${name}`, import.meta.url));

/** A self-signed certificate for localhost, good for a hundred years and for nothing else: Node can use certificates but not issue them. */
export function certificate(): { key: Buffer; cert: Buffer } {
  return { key: read("localhost-key.pem"), cert: read("localhost-cert.pem") };
}
