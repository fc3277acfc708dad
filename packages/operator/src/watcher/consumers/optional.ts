import { unreadable } from "./consumer.ts";

/**
 * A package that is installed only by those who need it. Its name is no literal where it is imported, so that it is not bundled.
 * @throws {OperatorError}
 */
export async function optionalPackage<T>(name: string): Promise<T> {
  try {
    return (await import(name)) as T;
  } catch (error) {
    throw unreadable(name, "the package is not installed beside the operator", { cause: error });
  }
}
