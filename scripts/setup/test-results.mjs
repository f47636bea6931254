import fs from 'node:fs'
import path from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { rootDirectory } from './platform.mjs'

const SLOWEST_SHOWN = 5

/**
 * `triedAgain` lists tests that failed and then passed.
 * @typedef {{
 *   passed: number, failed: number, files: { file: string, tookMs: number }[], triedAgain: string[],
 *   skipped: { file: string, count: number }[]
 * }} Result
 */

/** @param {string} directory of reports NAME.json @returns {Record<string, Result>} */
export function readResults(directory) {
  const names = fs.existsSync(directory) ? fs.readdirSync(directory) : []
  return Object.fromEntries(
    names.map((name) => [
      path.basename(name, '.json'),
      resultOf(JSON.parse(fs.readFileSync(path.join(directory, name), 'utf8')))
    ])
  )
}

/** @param {any} report @returns {Result} */
export function resultOf(report) {
  if (report.stats) {
    return {
      passed: report.stats.expected + report.stats.flaky,
      failed: report.stats.unexpected,
      files: report.suites.map((/** @type {any} */ suite) => ({
        file: `e2e/${suite.file}`,
        tookMs: durationOf(suite)
      })),
      triedAgain: report.suites.flatMap(flakyOf),
      skipped: report.suites
        .map((/** @type {any} */ suite) => ({ file: `e2e/${suite.file}`, count: skippedOf(suite) }))
        .filter((/** @type {any} */ { count }) => count > 0)
    }
  }
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests,
    files: report.testResults.map((/** @type {any} */ { name, startTime, endTime }) => ({
      file: path.relative(rootDirectory, name),
      tookMs: endTime - startTime
    })),
    // Tests that passed on a retry still contain the errors of earlier attempts.
    triedAgain: report.testResults.flatMap((/** @type {any} */ { assertionResults }) =>
      assertionResults
        .filter((/** @type {any} */ { status, failureMessages }) => status === 'passed' && failureMessages.length > 0)
        .map((/** @type {any} */ { fullName, failureMessages }) => `${fullName}: ${failureMessages[0].split('\n')[0]}`)
    ),
    skipped: report.testResults
      .map((/** @type {any} */ { name, assertionResults }) => ({
        file: path.relative(rootDirectory, name),
        count: assertionResults.filter((/** @type {any} */ { status }) => !['passed', 'failed'].includes(status)).length
      }))
      .filter((/** @type {any} */ { count }) => count > 0)
  }
}

/** @param {any} suite of Playwright @returns {string[]} */
function flakyOf({ suites = [], specs = [] }) {
  const flaky = specs.flatMap((/** @type {any} */ { title, tests }) =>
    tests
      .filter((/** @type {any} */ { status }) => status === 'flaky')
      .map((/** @type {any} */ { results }) => {
        const error = results.find((/** @type {any} */ { errors }) => errors?.length > 0)?.errors[0]?.message ?? ''
        return `${title}: ${stripVTControlCharacters(error).split('\n').slice(0, 5).join(' ')}`
      })
  )
  return [...suites.flatMap(flakyOf), ...flaky]
}

/** @param {any} suite of Playwright @returns {number} */
function skippedOf({ suites = [], specs = [] }) {
  const tests = specs.flatMap((/** @type {any} */ spec) => spec.tests)
  const own = tests.filter((/** @type {any} */ { status }) => status === 'skipped').length
  return suites.map(skippedOf).reduce((/** @type {number} */ sum, /** @type {number} */ one) => sum + one, own)
}

/** @param {any} suite of Playwright @returns {number} */
function durationOf({ suites = [], specs = [] }) {
  const results = specs.flatMap((/** @type {any} */ spec) =>
    spec.tests.flatMap((/** @type {any} */ test) => test.results)
  )
  return [...suites.map(durationOf), ...results.map((/** @type {any} */ { duration }) => duration)].reduce(
    (sum, one) => sum + one,
    0
  )
}

/** @param {Record<string, Result>} results @param {number} brokenSteps a step that did not start is one failure */
export function sums(results, brokenSteps) {
  const all = Object.values(results)
  const passed = all.reduce((sum, one) => sum + one.passed, 0)
  const failed = all.reduce((sum, one) => sum + one.failed, 0)
  return `${passed} passed, ${Math.max(failed, brokenSteps)} failed`
}

/**
 * Tests that failed and then passed, with their errors: '' or one line each.
 * @param {Record<string, Result>} results
 */
export function triedAgain(results) {
  const names = Object.values(results).flatMap(({ triedAgain: each }) => each)
  return names.length === 0 ? '' : ['Passed only when tried again:', ...names.map((name) => `  ${name}`)].join('\n')
}

/** Counts tests that failed and then passed as failed. @param {Record<string, Result>} results */
export const withRetriesFailed = (results) =>
  Object.fromEntries(
    Object.entries(results).map(([name, result]) => {
      const { passed, failed, triedAgain: retried } = result
      return [name, { ...result, passed: passed - retried.length, failed: failed + retried.length }]
    })
  )

/** Files with skipped tests: '' or one line each. @param {Record<string, Result>} results */
export function skipped(results) {
  const files = Object.values(results).flatMap((result) => result.skipped)
  return files.length === 0
    ? ''
    : ['Skipped here:', ...files.map(({ file, count }) => `  ${count} of ${file}`)].join('\n')
}

/**
 * Start, duration, number of tests and slowest files of each part.
 * @param {{ name: string, title: string, beganMs: number, tookMs: number }[]} parts
 * @param {Record<string, Result>} results
 * @param {number} totalMs
 */
export function table(parts, results, totalMs) {
  const rows = parts.flatMap(({ name, title, beganMs, tookMs }) => {
    const result = results[name]
    const slowest = [...(result?.files ?? [])].sort((one, other) => other.tookMs - one.tookMs).slice(0, SLOWEST_SHOWN)
    return [
      [title, seconds(beganMs), seconds(tookMs), result ? String(result.passed + result.failed) : ''],
      ...slowest.map(({ file, tookMs }) => [`  ${file}`, '', seconds(tookMs), ''])
    ]
  })
  return columns([['Part', 'began', 'took', 'tests'], ...rows, ['All', '', seconds(totalMs), '']])
}

/** @param {string[][]} rows the first column left-aligned, all others right-aligned */
function columns(rows) {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows
    .map((row) =>
      row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
    )
    .map((row) => row.join('  ').trimEnd())
    .join('\n')
}

/** @param {number} ms */
function seconds(ms) {
  return `${(ms / 1000).toFixed(1)} s`
}
