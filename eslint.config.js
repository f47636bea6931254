import reactHooks from 'eslint-plugin-react-hooks'
import tseslint from 'typescript-eslint'

const TAKE_THE_CLOCK =
  'Time and chance are parameters in the engine: take `clock` or `random` from src/engine/runtime, so that a test can hold it.'

// Few rules, each of which finds a mistake that a type checker and a formatter do not.
export default tseslint.config(
  { ignores: ['node_modules/', 'out/', 'dist/', '.cache/', '.venv/', 'test-results/', 'playwright-report/', 'docs/'] },
  {
    files: ['{src,e2e,bench,simulation,scripts}/**/*.{ts,tsx,mjs}'],
    extends: [tseslint.configs.base],
    languageOptions: {
      parserOptions: {
        // One program for all: each layer's own would parse the engine again, twelve times.
        project: 'tsconfig.lint.json',
        tsconfigRootDir: import.meta.dirname
      }
    },
    rules: {
      // A rejection that nobody waits for ends the process, or hides.
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { attributes: false } }],
      '@typescript-eslint/only-throw-error': [
        'error',
        { allow: [{ from: 'package', package: '@tanstack/router-core', name: 'Redirect' }] }
      ],
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/no-explicit-any': 'error',
      eqeqeq: ['error', 'smart'],
      // House style: handle it, add what you know and throw again, or say why it is safe.
      'no-empty': 'error'
    }
  },
  {
    files: ['src/renderer/**/*.{ts,tsx}'],
    plugins: { 'react-hooks': reactHooks },
    rules: { 'react-hooks/rules-of-hooks': 'error', 'react-hooks/exhaustive-deps': 'error' }
  },
  {
    files: ['src/engine/**/*.ts'],
    ignores: ['src/engine/runtime/**', 'src/engine/testing/**', '**/*.test.ts'],
    rules: {
      'no-restricted-globals': [
        'error',
        ...['setTimeout', 'setInterval'].map((name) => ({ name, message: TAKE_THE_CLOCK }))
      ],
      'no-restricted-imports': [
        'error',
        { paths: ['node:timers', 'node:timers/promises'].map((name) => ({ name, message: TAKE_THE_CLOCK })) }
      ],
      'no-restricted-syntax': [
        'error',
        ...[
          "MemberExpression[object.name='Date'][property.name='now']",
          "NewExpression[callee.name='Date'][arguments.length=0]",
          "MemberExpression[object.name='Math'][property.name='random']"
        ].map((selector) => ({ selector, message: TAKE_THE_CLOCK }))
      ]
    }
  }
)
