import assert from "node:assert/strict";
import { test } from "node:test";
import { shownUrl, parseRoutes } from "../src/index.ts";
import { hasCredentials, withoutSecrets } from "../src/routes/url.ts";

for (const [text, shown] of [
  ["http://shop/?access_token=abc&page=2", "http://shop/?access_token=REDACTED&page=2"],
  ["http://shop/cart?X-Amz-Signature=abc", "http://shop/cart?X-Amz-Signature=REDACTED"],
  ["http://shop/?api_key=abc", "http://shop/?api_key=REDACTED"],
] as const)
  test(`the URL ${text} is shown without its credentials`, () => {
    assert.equal(hasCredentials(new URL(text)), true);
    assert.equal(shownUrl(new URL(text)), shown);
  });

test("a URL without credentials is shown as it is", () => {
  for (const text of ["http://shop/?page=2&sort=a%20b", "http://shop/token", "http://shop/"])
    assert.equal(shownUrl(new URL(text)), text);
});

test("a text that is no URL is shown without name, password and query", () => {
  assert.equal(withoutSecrets("http://me:pa/ss@sh op/?token=abc"), "http://sh op/?...");
  assert.equal(withoutSecrets("sh op"), "sh op");
  assert.throws(
    () => parseRoutes(["http://me:s3cret@sh op/?token=abc"]),
    (error: Error) => {
      assert.doesNotMatch(error.message, /s3cret|abc/);
      return true;
    },
  );
});
