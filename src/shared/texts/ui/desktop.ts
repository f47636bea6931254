import { formatCount, plural } from '../../numbers.ts'
import { area } from './area.ts'

export const texts = area('desktop', {
  openScrapdeck: 'Open Scrapdeck',
  fileMenu: 'File',
  viewMenu: 'View',
  goMenu: 'Go',
  runMenu: 'Run',
  helpMenu: 'Help',
  runSpidersMenu: 'Run spiders…',
  settingsMenu: 'Settings…',
  about: 'About Scrapdeck',
  openLogs: 'Open logs',
  copyLink: 'Copy link',
  quit: 'Quit',
  figures: (running: number, free: number, failed: number) =>
    `${running} running, ${free} free, ${failed} failed in the last hour`,
  figuresPaused: (running: number, free: number, failed: number) =>
    `paused, ${running} running, ${free} free, ${failed} failed in the last hour`,
  alertsOrMore: (count: number) => `${formatCount(count)} or more alerts`,
  fleetAndAlerts: (fleet: string, alerts: string) => `${fleet}, ${alerts}`,
  tooltip: (summary: string) => `Scrapdeck: ${summary}`,
  ofEngine: (engine: string, text: string) => `${engine}: ${text}`,
  retryRuns: (count: number) => (count === 1 ? 'Retry' : `Retry ${count} runs`),
  retryFailed: (count: number) => (count === 1 ? 'Could not retry' : `Could not retry ${count} runs`),
  couldNotPause: 'Could not pause or resume the queue',
  couldNotStart: 'Scrapdeck could not start',
  couldNotQuit: 'Scrapdeck could not quit',
  couldNotQuitHint: (problem: string) => `${problem}\n\nTry again, or end the process.`,
  pageGone: 'Scrapdeck reloaded its window',
  pageGoneHint: (reason: string) => `The process of the page ended (${reason}). Jobs and spiders are not affected.`,
  unresponsive: 'The window does not respond',
  unresponsiveHint: 'Jobs and spiders are not affected. Unsaved input in the window is lost when you reload it.',
  wait: 'Wait',
  reload: 'Reload',
  restarted: 'Scrapdeck restarted after an unexpected error',
  restartedHint: 'Nothing is lost: queued jobs are still queued, and running spiders were not interrupted.',
  endedAgain: 'An unexpected error ended Scrapdeck again',
  quitQuestion: 'Quit Scrapdeck?',
  spidersRunning: (count: number) =>
    `${plural(count, 'spider')} ${count === 1 ? 'is' : 'are'} running on this computer`,
  spidersRunningHint:
    'Running spiders can continue without Scrapdeck, which finds them again when it next starts, with their logs and outcomes. Either way, queued jobs wait until then.',
  quitAndKeep: (count: number) => `Quit, keep ${plural(count, 'spider')} running`,
  stopAndQuit: (count: number) => `Stop ${plural(count, 'spider')} and quit`,
  inKeychain: 'In the keychain of this system',
  inKeychainNamed: (keychain: string) => `In the keychain of this system (${keychain})`,
  notInKeychain: (keychain: string, instead: string) =>
    `This desktop session has no keychain (${keychain}), so passwords are stored differently: ${instead}`,
  notThroughSsh: 'Not possible through SSH',
  leadsElsewhere: (engine: string, host: string) =>
    `${engine} sends you to ${host}, which would then send you back to ${engine}’s own address. This browser cannot reach that through SSH. Log in with a user name and password, or cancel the sign-in in Scrapdeck and choose the sign-in with a code.`,
  anotherAddress: 'another address',
  backToLogin: 'Back to login',
  signInStopped: 'Sign-in stopped',
  nothingHere: 'There is nothing here',
  startSignInAgain: 'Start the sign-in again in Scrapdeck.'
})
