/** What a timer can wait, in milliseconds (some 24 days); a longer wait would end at once. */
export const LONGEST_TIMER_MS = 0x7fff_ffff;
