import { readFileSync } from "node:fs";

const fixture = (name: string): Buffer =>
  readFileSync(new URL(`../../node/test/fixtures/${name}`, import.meta.url));

export const certificate = (): { key: Buffer; cert: Buffer } => ({
  key: fixture("localhost-key.pem"),
  cert: fixture("localhost-cert.pem"),
});
