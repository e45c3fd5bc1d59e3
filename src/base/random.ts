import { customAlphabet } from "nanoid";

const digits = customAlphabet("0123456789abcdef");

/** So many random bytes as hex digits, two a byte. */
export function randomHex(bytes: number): string {
  return digits(bytes * 2);
}
