/** A file of its own beside the programs that schedule; cron.ts loads it. */
export { CronExpressionParser } from 'cron-parser';
