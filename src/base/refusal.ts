/** The words a failed response carries in `code` (protocol.md, section 3). */
export type RefusalCode = "invalid" | "not_found" | "busy" | "unavailable" | "cancelled";

/**
 * A caller's mistake or a "not now", told in words for people. The wire turns it into one failure
 * response with this code; every other error is a bug and answers `internal`.
 */
export class Refusal extends Error {
  override readonly name = "Refusal";
  constructor(
    readonly code: RefusalCode,
    message: string,
  ) {
    super(message);
  }
}
