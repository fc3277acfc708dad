import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run } from "./run.ts";

/** P-256: certificates for fifteen identities cost a fifth of a second, RSA seconds. */
const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc"];
/** A cluster lives minutes; a day covers a machine left alone overnight. */
const validity = ["-days", "2"];

export interface Identity {
  /** File name without extension. */
  readonly file: string;
  /** The user, and the groups, that the API server's RBAC sees. */
  readonly user: string;
  readonly groups?: readonly string[];
  /** Names and addresses under which it serves, if it serves. */
  readonly serves?: readonly string[];
}

export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

/** A certificate authority in a directory: everything in the cluster that speaks TLS is signed by it and trusts it alone. */
export class CertificateAuthority {
  readonly directory: string;
  readonly certificate: string;
  readonly #key: string;

  private constructor(directory: string) {
    this.directory = directory;
    this.certificate = join(directory, "ca.crt");
    this.#key = join(directory, "ca.key");
  }

  static async create(directory: string): Promise<CertificateAuthority> {
    const authority = new CertificateAuthority(directory);
    await run("openssl", [
      "req",
      "-x509",
      "-subj",
      "/CN=lameduck-e2e",
      ...newKey,
      ...validity,
      "-addext",
      "keyUsage=critical,keyCertSign,cRLSign,digitalSignature",
      "-keyout",
      authority.#key,
      "-out",
      authority.certificate,
    ]);
    return authority;
  }

  pair(file: string): KeyPair {
    return { certificate: join(this.directory, `${file}.crt`), key: join(this.directory, `${file}.key`) };
  }

  async issue(identity: Identity): Promise<KeyPair> {
    const pair = this.pair(identity.file);
    const groups = (identity.groups ?? []).map((group) => `/O=${group}`).join("");
    const serves = identity.serves ?? [];
    const names = serves.map((name) => (/^[0-9.]+$/.test(name) ? `IP:${name}` : `DNS:${name}`)).join(",");
    await run("openssl", [
      "req",
      "-x509",
      "-CA",
      this.certificate,
      "-CAkey",
      this.#key,
      ...newKey,
      ...validity,
      "-subj",
      `${groups}/CN=${identity.user}`,
      "-addext",
      "basicConstraints=critical,CA:false",
      "-addext",
      "keyUsage=critical,digitalSignature",
      "-addext",
      `extendedKeyUsage=clientAuth${serves.length > 0 ? ",serverAuth" : ""}`,
      ...(serves.length > 0 ? ["-addext", `subjectAltName=${names}`] : []),
      "-keyout",
      pair.key,
      "-out",
      pair.certificate,
    ]);
    return pair;
  }

  /** The key with which service account tokens are signed; its public half verifies them. */
  async createSigningKey(file: string): Promise<{ readonly key: string; readonly publicKey: string }> {
    const key = join(this.directory, `${file}.key`);
    const publicKey = join(this.directory, `${file}.pub`);
    await run("openssl", ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", key]);
    await run("openssl", ["pkey", "-in", key, "-pubout", "-out", publicKey]);
    return { key, publicKey };
  }

  /** A kubeconfig that names the files; JSON is YAML. */
  async writeKubeconfig(path: string, server: string, pair: KeyPair): Promise<string> {
    const config = {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "lameduck", cluster: { server, "certificate-authority": this.certificate } }],
      users: [{ name: "user", user: { "client-certificate": pair.certificate, "client-key": pair.key } }],
      contexts: [{ name: "lameduck-e2e", context: { cluster: "lameduck", user: "user" } }],
      "current-context": "lameduck-e2e",
    };
    await writeFile(path, `${JSON.stringify(config, null, 2)}\n`, { mode: 0o600 });
    return path;
  }
}
