// Asked for by @peculiar/x509 2.x, which throws at import without it.
import "reflect-metadata";
import { randomBytes, webcrypto, X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
} from "@peculiar/x509";

/** Certificate and private key, both PEM. */
export interface Issued {
  readonly cert: string;
  readonly key: string;
}

/** Valid from so long before it is issued, milliseconds: the API server's clock may be behind. */
export const backdated = 300_000;

const curve = { name: "ECDSA", namedCurve: "P-256" } as const;
const signature = { name: "ECDSA", hash: "SHA-256" } as const;

/** @param lifetime milliseconds from `now` on. */
export async function issueAuthority(now: number, lifetime: number): Promise<Issued> {
  const keys = await generate();
  const serialNumber = serial();
  const cert = await X509CertificateGenerator.createSelfSigned(
    {
      serialNumber,
      // Two authorities that are trusted at one time need two names.
      name: `CN=lameduck-webhook-ca-${serialNumber.slice(0, 8)}`,
      notBefore: new Date(now - backdated),
      notAfter: new Date(now + lifetime),
      signingAlgorithm: signature,
      keys,
      extensions: [
        new BasicConstraintsExtension(true, 0, true),
        new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
        await SubjectKeyIdentifierExtension.create(keys.publicKey, false, webcrypto),
      ],
    },
    webcrypto,
  );
  return { cert: `${cert.toString("pem")}\n`, key: await pemOf(keys.privateKey) };
}

/**
 * A server's certificate. It does not outlive its authority.
 * @param names DNS names and IP addresses.
 */
export async function issueLeaf(
  authority: Issued,
  names: readonly string[],
  now: number,
  lifetime: number,
): Promise<Issued> {
  const keys = await generate();
  const issuer = new X509Certificate(authority.cert);
  const signingKey = await webcrypto.subtle.importKey(
    "pkcs8",
    PemConverter.decodeFirst(authority.key),
    curve,
    false,
    ["sign"],
  );
  const issuerKey = await webcrypto.subtle.importKey(
    "spki",
    issuer.publicKey.export({ type: "spki", format: "der" }),
    curve,
    true,
    ["verify"],
  );
  const cert = await X509CertificateGenerator.create(
    {
      serialNumber: serial(),
      subject: "CN=lameduck-webhook",
      issuer: issuer.subject,
      notBefore: new Date(now - backdated),
      notAfter: new Date(Math.min(now + lifetime, issuer.validToDate.getTime())),
      signingAlgorithm: signature,
      publicKey: keys.publicKey,
      signingKey: signingKey,
      extensions: [
        new BasicConstraintsExtension(false, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
        new SubjectAlternativeNameExtension(
          names.map((name) => ({ type: isIP(name) === 0 ? "dns" : "ip", value: name }) as const),
        ),
        await AuthorityKeyIdentifierExtension.create(issuerKey, false, webcrypto),
      ],
    },
    webcrypto,
  );
  return { cert: `${cert.toString("pem")}\n`, key: await pemOf(keys.privateKey) };
}

async function generate(): Promise<webcrypto.CryptoKeyPair> {
  return await webcrypto.subtle.generateKey(curve, true, ["sign", "verify"]);
}

async function pemOf(key: webcrypto.CryptoKey): Promise<string> {
  return `${PemConverter.encode(await webcrypto.subtle.exportKey("pkcs8", key), "PRIVATE KEY")}\n`;
}

/** Positive, as RFC 5280 wants it. */
function serial(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes.toString("hex");
}
