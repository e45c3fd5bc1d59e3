const CONTROL = 1;
/** The first byte of U+0080 to U+00BF in UTF-8, the C1 controls among them. */
const MAY_BE_C1 = 2;
const NOT_ASCII = 4;

const KINDS = new Uint8Array(256).map((_, byte) => {
  if (byte === 0xc2) return MAY_BE_C1 | NOT_ASCII;
  if (byte >= 0x80) return NOT_ASCII;
  const isPlain = (byte >= 0x20 && byte < 0x7f) || byte === 0x09 || byte === 0x0a;
  return isPlain ? 0 : CONTROL;
});

export interface ByteScan {
  newlines: number;
  isAscii: boolean;
  /** As UTF-8 they may hold control characters other than tab and newline. False is certain. */
  mayHaveControls: boolean;
  /** The next bytes may begin with the second half of a control character. */
  endsInsideControl: boolean;
}

/** One pass over the bytes; a search in the decoded text costs several times as much. */
export function scanBytes(bytes: Uint8Array): ByteScan {
  const length = bytes.length;
  let newlines = 0;
  let kinds = 0;
  for (let at = 0; at < length; at += 1) {
    const byte = bytes[at]!;
    // 1 for a newline, else 0, without a branch.
    newlines += ((byte ^ 0x0a) - 1) >>> 31;
    kinds |= KINDS[byte]!;
  }
  return {
    newlines,
    isAscii: (kinds & NOT_ASCII) === 0,
    mayHaveControls: (kinds & (CONTROL | MAY_BE_C1)) !== 0,
    endsInsideControl: bytes[length - 1] === 0xc2,
  };
}
