/**
 * A value that is JSON text already: too deep for JSON.stringify, or known without building it.
 * Only whole `data` values may be one.
 */
export class RawJson {
  constructor(readonly text: string) {}
}
