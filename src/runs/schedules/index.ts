export {
  addSchedule,
  type FoundSchedule,
  listSchedules,
  MOST_SCHEDULES,
  type NewSchedule,
  noSchedule,
  removeSchedule,
} from './add.ts';
export type { BeginDeps } from './begin.ts';
export { CronError } from './cron.ts';
export { readSchedule } from './files.ts';
export type { Firing } from './fire.ts';
export { type FireOptions, type FireReport, fireDue } from './fire-due.ts';
export { type HistoryLine, readHistory } from './history.ts';
export { isScheduleId, parseScheduleId, type ScheduleId } from './ids.ts';
export { checkTiming, nextInstants, type Timing } from './instants.ts';
export { CATCH_UPS, type CatchUp, OVERLAPS, type Overlap, type Schedule } from './schedule.ts';
export {
  hasSchedule,
  runScheduler,
  type SchedulerLaunch,
  type SchedulerOptions,
  SchedulerStartError,
  startScheduler,
} from './scheduler.ts';
export { type WatchOptions, watchSchedules } from './watch.ts';
export { timeIn, UnknownZoneError } from './zone-time.ts';
