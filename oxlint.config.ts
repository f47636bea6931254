import path from 'node:path'

const TAKE_THE_CLOCK =
  'Time and chance are parameters in the engine: take `clock` or `random` from src/engine/runtime, so that a test can hold it.'
const NO_FETCH = {
  name: 'fetch',
  message:
    '`fetch` offers and decodes br: send with `request` of undici and PLAIN_BODIES (src/engine/runtime/plain-bodies.ts).'
}
const FETCH_OF_UNDICI = { name: 'undici', importNames: ['fetch'], message: NO_FETCH.message }
const IN_CATALOGUE =
  'Put the text into src/shared/texts/ui, and show `texts.…`: a second language is one more file there.'
const NO_NODE = 'The renderer is a web page: Node is not there.'

// Few rules, each of which finds a mistake that a type checker and a formatter do not. oxlint checks this itself.
export default {
  options: { typeAware: true, reportUnusedDisableDirectives: 'error' },
  ignorePatterns: ['out/', 'dist/', '.cache/', '.venv/', 'test-results/', 'playwright-report/', 'docs/'],
  plugins: ['typescript', 'react'],
  // `new Date()` alone: no rule of oxlint's own tells it from `new Date(5)`.
  jsPlugins: [
    { name: 'scrapdeck', specifier: path.join(import.meta.dirname, 'scripts/lint-rules.mjs') },
    { name: 'scrapdeck-texts', specifier: path.join(import.meta.dirname, 'scripts/no-bare-sentences.mjs') }
  ],
  categories: { correctness: 'off' },
  rules: {
    // An unhandled rejection ends the process or goes unnoticed.
    'typescript/no-floating-promises': 'error',
    'typescript/no-misused-promises': ['error', { checksVoidReturn: { attributes: false } }],
    'typescript/no-misused-spread': 'error',
    'typescript/only-throw-error': [
      'error',
      { allow: [{ from: 'package', package: '@tanstack/router-core', name: 'Redirect' }] }
    ],
    'typescript/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
    'typescript/no-explicit-any': 'error',
    eqeqeq: ['error', 'smart'],
    'scrapdeck/no-spread-literal': ['error', 'Write the properties out: a spread literal only saves lines.'],
    // House style: handle it, add what you know and throw again, or say why it is safe.
    'no-empty': 'error'
  },
  overrides: [
    {
      files: ['src/renderer/**/*.{ts,tsx}'],
      rules: { 'react/rules-of-hooks': 'error', 'react/exhaustive-deps': 'error' }
    },
    {
      files: ['src/renderer/**/*.{ts,tsx}', 'src/main/{index,notifications,quit,tray,window}.ts'],
      excludeFiles: ['**/*.test.{ts,tsx}', '**/testing/**'],
      rules: { 'scrapdeck-texts/no-bare-sentences': ['error', IN_CATALOGUE] }
    },
    {
      // Its tests run in Node, so the types of Node are there.
      files: ['src/renderer/**/*.{ts,tsx}'],
      excludeFiles: ['**/*.test.{ts,tsx}'],
      rules: {
        'no-restricted-globals': [
          'error',
          ...['process', 'Buffer', 'global', 'setImmediate'].map((name) => ({ name, message: NO_NODE }))
        ]
      }
    },
    {
      files: ['src/{engine,server,cli,config,remote,main}/**/*.ts'],
      excludeFiles: ['**/testing/**', '**/*.test.ts'],
      rules: {
        'no-restricted-globals': ['error', NO_FETCH],
        'no-restricted-imports': ['error', { paths: [FETCH_OF_UNDICI] }]
      }
    },
    {
      files: ['src/engine/**/*.ts'],
      excludeFiles: ['src/engine/runtime/**', 'src/engine/testing/**', '**/*.test.ts'],
      rules: {
        'no-restricted-globals': [
          'error',
          NO_FETCH,
          ...['setTimeout', 'setInterval'].map((name) => ({ name, message: TAKE_THE_CLOCK }))
        ],
        'no-restricted-imports': [
          'error',
          {
            paths: [
              FETCH_OF_UNDICI,
              ...['node:timers', 'node:timers/promises'].map((name) => ({ name, message: TAKE_THE_CLOCK }))
            ]
          }
        ],
        'no-restricted-properties': [
          'error',
          { object: 'Date', property: 'now', message: TAKE_THE_CLOCK },
          { object: 'Math', property: 'random', message: TAKE_THE_CLOCK }
        ],
        'scrapdeck/no-new-date': ['error', TAKE_THE_CLOCK]
      }
    }
  ]
}
