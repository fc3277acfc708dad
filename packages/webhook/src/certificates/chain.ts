import { createPrivateKey, X509Certificate } from "node:crypto";
import type { Issued } from "./issue.ts";

/** All that the replicas share: it stands in one Secret. */
export interface Chain {
  /** Signs. */
  readonly authority: Issued;
  /** Signs next: the API server is told of it long before. */
  readonly next?: Issued;
  /** Has signed, and is trusted until it expires: a replica may still serve what it signed. */
  readonly previous?: string;
  /** What the server shows. */
  readonly leaf: Issued;
}

type Data = Readonly<Record<string, string>>;

/** What the API server should trust. */
export function bundleOf({ authority, next, previous }: Chain): string {
  return [authority.cert, next?.cert, previous].filter((one) => one !== undefined).join("");
}

export function toSecretData({ authority, next, previous, leaf }: Chain): Data {
  const data = {
    "ca.crt": authority.cert,
    "ca.key": authority.key,
    ...(next ? { "next-ca.crt": next.cert, "next-ca.key": next.key } : {}),
    ...(previous === undefined ? {} : { "previous-ca.crt": previous }),
    "tls.crt": leaf.cert,
    "tls.key": leaf.key,
  };
  return Object.fromEntries(
    Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString("base64")]),
  );
}

/** @returns none where anything in it does not fit: it is made anew then. */
export function fromSecretData(data: Data | undefined): Chain | undefined {
  const text = (key: string): string | undefined =>
    data?.[key] === undefined ? undefined : Buffer.from(data[key], "base64").toString("utf8");
  const pair = (cert = text("ca.crt"), key = text("ca.key")): Issued | undefined =>
    cert !== undefined && key !== undefined && isKeyPair({ cert, key }) ? { cert, key } : undefined;
  const authority = pair();
  const next = pair(text("next-ca.crt") ?? "", text("next-ca.key") ?? "");
  const leaf = pair(text("tls.crt") ?? "", text("tls.key") ?? "");
  const previous = text("previous-ca.crt");
  if (!authority || !leaf) return undefined;
  return {
    authority,
    leaf,
    ...(next ? { next } : {}),
    ...(previous !== undefined && isAuthority(previous) ? { previous } : {}),
  };
}

export function validity(cert: string): { readonly from: number; readonly to: number } {
  const { validFromDate, validToDate } = new X509Certificate(cert);
  return { from: validFromDate.getTime(), to: validToDate.getTime() };
}

export function isSignedBy(leaf: Issued, authority: Issued): boolean {
  return new X509Certificate(leaf.cert).verify(new X509Certificate(authority.cert).publicKey);
}

export function coversNames(cert: string, names: readonly string[]): boolean {
  const { subjectAltName = "" } = new X509Certificate(cert);
  const served = subjectAltName.split(", ").map((name) => name.replace(/^(?:DNS|IP Address):/, ""));
  return names.every((name) => served.includes(name));
}

/** Whether a server could show it. */
export function isKeyPair({ cert, key }: Issued): boolean {
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}

function isAuthority(text: string): boolean {
  try {
    return new X509Certificate(text).ca;
  } catch {
    return false;
  }
}
