import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import test from "node:test";
import { bundleOf, fromSecretData, toSecretData, validity, type Chain } from "../src/certificates/chain.ts";
import { rotate, type RotationOptions } from "../src/certificates/rotate.ts";

const day = 86_400_000;
const options: RotationOptions = {
  names: ["lameduck-webhook.lameduck-system.svc", "198.18.0.1"],
  certificateLifetime: 90 * day,
  authorityLifetime: 730 * day,
};
const yes = (): boolean => true;

function isTrustedBy(bundle: string, leaf: string): boolean {
  const roots = bundle.match(/-----BEGIN[^]*?-----END CERTIFICATE-----/g) ?? [];
  const certificate = new X509Certificate(leaf);
  return roots.some((root) => {
    const authority = new X509Certificate(root);
    return certificate.checkIssued(authority) && certificate.verify(authority.publicKey);
  });
}

test("a TLS client accepts the first chain of certificates", async () => {
  const now = Date.UTC(2026, 0, 1);
  const { authority, leaf } = await rotate(undefined, now, options, yes);
  const certificate = new X509Certificate(leaf.cert);
  assert.ok(new X509Certificate(authority.cert).ca);
  assert.ok(isTrustedBy(authority.cert, leaf.cert));
  assert.equal(
    certificate.checkHost("lameduck-webhook.lameduck-system.svc"),
    "lameduck-webhook.lameduck-system.svc",
  );
  assert.equal(certificate.checkIP("198.18.0.1"), "198.18.0.1");
  assert.equal(validity(leaf.cert).to, now + 90 * day);
  assert.deepEqual(certificate.keyUsage, ["1.3.6.1.5.5.7.3.1"]);
});

test("on each day of four years the certificate is valid and trusted, also by a client that saw the bundle a day ago", async () => {
  let now = Date.UTC(2026, 0, 1);
  let chain: Chain | undefined;
  let before: Chain | undefined;
  const leaves = new Set<string>();
  const authorities = new Set<string>();
  for (let days = 0; days < 1_460; days += 1, now += day) {
    chain = await rotate(chain, now, options, yes);
    leaves.add(chain.leaf.cert);
    authorities.add(chain.authority.cert);
    assert.ok(now < validity(chain.leaf.cert).to - 20 * day, `day ${days}: a third is left`);
    // The same certificates have been looked at on the day before.
    if (chain === before) continue;
    assert.ok(isTrustedBy(bundleOf(chain), chain.leaf.cert), `day ${days}`);
    // A replica that still shows yesterday's certificate, and an API server that still trusts yesterday's bundle.
    if (before) {
      assert.ok(isTrustedBy(bundleOf(chain), before.leaf.cert), `day ${days}: the other replica`);
      assert.ok(isTrustedBy(bundleOf(before), chain.leaf.cert), `day ${days}: the API server`);
    }
    assert.ok((bundleOf(chain).match(/BEGIN/g) ?? []).length <= 3);
    before = chain;
  }
  assert.ok(leaves.size > 22 && leaves.size < 32, `${leaves.size} certificates`);
  assert.ok(authorities.size === 3 || authorities.size === 4, `${authorities.size} authorities`);
});

test("a shorter lifetime counts for certificates that were issued before it, too", async () => {
  const now = Date.UTC(2026, 0, 1);
  const old = await rotate(undefined, now, options, yes);
  const shorter = { ...options, certificateLifetime: 3 * day, authorityLifetime: 9 * day };
  assert.equal(await rotate(old, now + 1 * day, shorter, yes), old);
  const renewed = await rotate(old, now + 2 * day, shorter, yes);
  assert.notEqual(renewed.leaf.cert, old.leaf.cert);
  assert.equal(renewed.authority, old.authority);
  assert.ok((await rotate(renewed, now + 6 * day, shorter, yes)).next, "an authority after this one");
});

test("certificates do not change twice at one moment", async () => {
  const now = Date.UTC(2026, 0, 1);
  const chain = await rotate(undefined, now, options, yes);
  assert.equal(await rotate(chain, now, options, yes), chain);
  assert.equal(await rotate(chain, now + 59 * day, options, yes), chain);
  assert.notEqual(await rotate(chain, now + 61 * day, options, yes), chain);
});

test("a new authority signs nothing before the API server has been told of it", async () => {
  const now = Date.UTC(2026, 0, 1);
  const old = await rotate(undefined, now, options, yes);
  const due = now + 500 * day;
  const told = await rotate(old, due, options, yes);
  assert.ok(told.next);
  assert.equal(told.leaf, old.leaf);
  const early = await rotate(told, due + day - 1_000, options, yes);
  assert.equal(early.authority, old.authority, "too early");
  const untrusted = await rotate(told, due + 2 * day, options, () => false);
  assert.equal(untrusted.authority, old.authority, "not told yet");
  const signed = await rotate(told, due + day + 1_000, options, yes);
  assert.equal(signed.authority, told.next);
  assert.equal(signed.previous, old.authority.cert);
});

test("a certificate for another name or of another authority, and an expired authority, are replaced", async () => {
  const now = Date.UTC(2026, 0, 1);
  const chain = await rotate(undefined, now, options, yes);
  const renamed = await rotate(chain, now, { ...options, names: ["other.shop.svc"] }, yes);
  assert.equal(new X509Certificate(renamed.leaf.cert).checkHost("other.shop.svc"), "other.shop.svc");
  assert.equal(renamed.authority, chain.authority);
  const foreign = await rotate(undefined, now, options, yes);
  const mixed = await rotate({ ...chain, leaf: foreign.leaf }, now, options, yes);
  assert.ok(isTrustedBy(chain.authority.cert, mixed.leaf.cert));
  const late = await rotate(chain, now + 731 * day, options, yes);
  assert.notEqual(late.authority.cert, chain.authority.cert);
});

test("a Secret holds the chain of certificates, and a damaged Secret holds none", async () => {
  const chain = await rotate(undefined, Date.now(), options, yes);
  const next = (await rotate(undefined, Date.now(), options, yes)).authority;
  const whole = { ...chain, next, previous: next.cert };
  const data = toSecretData(whole);
  assert.deepEqual(fromSecretData(data), whole);
  const other = Buffer.from("no PEM").toString("base64");
  assert.equal(fromSecretData(undefined), undefined);
  assert.equal(fromSecretData({}), undefined);
  for (const key of ["ca.crt", "ca.key", "tls.crt", "tls.key"]) {
    assert.equal(fromSecretData({ ...data, [key]: other }), undefined, key);
    const { [key]: _gone, ...rest } = data;
    assert.equal(fromSecretData(rest), undefined, key);
  }
  assert.equal(fromSecretData({ ...data, "tls.key": data["ca.key"] ?? "" }), undefined, "a key of another");
  assert.deepEqual(fromSecretData({ ...data, "next-ca.key": other, "previous-ca.crt": other }), chain);
});
