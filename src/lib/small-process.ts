/**
 * For processes of ours that wait nearly all the time, one beside every job, run and project (J15). Without these two of its
 * compilers Node takes 3 MB less for as long as it does, and what is really hot is compiled all the same. A small nursery
 * keeps it from growing with all that is said to it.
 */
export const SMALL_PROCESS_FLAGS = ['--no-sparkplug', '--no-maglev', '--max-semi-space-size=1'] as const;
