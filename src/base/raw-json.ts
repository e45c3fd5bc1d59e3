/**
 * A value that is JSON already, as text or as UTF-8 bytes in pieces: too deep for JSON.stringify, too big to
 * be built as one string, or known without building it. Only a whole `data` value may be one.
 */
export class RawJson {
  constructor(readonly json: string | readonly Uint8Array[]) {}
}
