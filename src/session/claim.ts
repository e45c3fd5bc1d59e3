/** What a system's own file answers: how to give the claim back, or who has it, or that it cannot be had here. */
export type Claim = { release(): void } | { owner: number | undefined } | "impossible";
