import fc from 'fast-check'
import { expect, test } from 'vitest'
import { render } from '../../../shared/texts/message.ts'
import { retryDelayMs, problemOf } from './ssh-problem.ts'
import { sshArguments } from './ssh-arguments.ts'

const HOST = { user: 'ops', host: 'bastion', port: 2222 }
const endWith = (stderr: string, over = {}) => ({ stderr, exitCode: 255, isLate: false, program: 'ssh', ...over })

test.each([
  ['ssh: Could not resolve hostname bastion: Name or service not known\r\n', 'does not resolve', 'by itself'],
  [
    'ssh: connect to host bastion port 2222: Connection refused',
    'no SSH server listens on bastion port 2222',
    'by itself'
  ],
  ['ssh: connect to host 10.0.0.1 port 22: No route to host', '(No route to host)', 'by itself'],
  [
    'Connection timed out during banner exchange\r\nConnection to 10.0.0.1 port 22 timed out',
    'did not answer',
    'by itself'
  ],
  ['kex_exchange_identification: Connection closed by remote host', 'closed the connection', 'by itself'],
  ['Timeout, server 10.0.0.1 not responding.', 'stopped responding', 'by itself'],
  ['ops@bastion: Permission denied (publickey,password).', 'it accepts: publickey,password', 'by hand'],
  [
    'Load key "/k": bad permissions\n@ WARNING: UNPROTECTED PRIVATE KEY FILE! @\nPermissions 0644 for \'/k\' are too open.\nops@b: Permission denied (publickey).',
    'chmod 600 /k',
    'by hand'
  ],
  ['Received disconnect from 10.0.0.1: Too many authentication failures', 'IdentitiesOnly', 'by hand'],
  [
    '@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key for [bastion]:2222 has changed and you have requested strict checking.\nHost key verification failed.',
    "ssh-keygen -R '[bastion]:2222'",
    'by hand'
  ],
  [
    'No ED25519 host key is known for bastion and you have requested strict checking.\nHost key verification failed.',
    'connect once with ssh -l ops -p 2222 bastion',
    'by hand'
  ],
  ['@ REVOKED HOST KEY DETECTED! @\nHost key verification failed.', 'revoked', 'by hand'],
  ['Host key verification failed.', 'could not be verified', 'by hand'],
  ['channel 0: open failed: administratively prohibited: open failed\nstdio forwarding failed', 'jump host', 'by hand'],
  ['channel 0: open failed: connect failed: Connection refused\nstdio forwarding failed', 'jump host', 'by itself'],
  [
    'Unable to negotiate: no matching host key type found. Their offer: ssh-rsa',
    'no host key type in common',
    'by hand'
  ],
  ['/h/.ssh/config: line 3: Bad configuration option: x', 'Bad configuration option: x', 'by hand'],
  ['No user exists for uid 10001', 'no entry in /etc/passwd', 'by hand'],
  ['something new', '(something new)', 'by itself'],
  ['', '(ssh ended)', 'by itself']
])('%j is explained', (stderr, words, ends) => {
  const problem = problemOf(HOST, endWith(stderr))
  expect(render(problem.said)).toContain(words)
  expect(problem.ends).toBe(ends)
})

test('a missing ssh program is distinguished from a failed one, and from one that still waits', () => {
  const saidAfter = (end: ReturnType<typeof endWith>) => render(problemOf(HOST, end).said)
  expect(saidAfter(endWith('sh: 1: ssh: not found', { exitCode: 127 }))).toContain('OpenSSH is needed')
  expect(saidAfter(endWith('', { exitCode: null, isLate: true }))).toContain('not ready in time')
})

test('whatever a server writes, the message is short, visible and a sentence', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 2_000 }), (text) => {
      for (const stderr of [text, `ssh: connect to host ${text}`, `x@${text}: Permission denied (${text}).`]) {
        const problem = render(problemOf(HOST, endWith(stderr)).said)
        expect(problem.length).toBeLessThan(1_500)
        expect(problem).not.toMatch(/[\u0000-\u001f\u007f\u202e]/)
        expect(problem).toMatch(/\.$/)
      }
    })
  )
})

test('the waits between attempts grow up to a limit, with jitter', () => {
  const waits = [1, 2, 3, 6, 7, 100].map((failures) => retryDelayMs('by itself', failures, 0))
  expect(waits).toEqual([1_000, 2_000, 4_000, 32_000, 60_000, 60_000])
  expect([1, 6].map((failures) => retryDelayMs('by hand', failures, 0))).toEqual([30_000, 600_000])
  fc.assert(
    fc.property(
      fc.nat({ max: 1e6 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (failures, chance) => {
        const [least, most] = [retryDelayMs('by itself', failures, 1), retryDelayMs('by itself', failures, 0)]
        const wait = retryDelayMs('by itself', failures, chance)
        expect(wait >= least && wait <= most && least >= 500 && most <= 60_000).toBe(true)
      }
    )
  )
})

test('ssh gets its destination behind --, and options that its configuration cannot change', () => {
  const words = sshArguments(HOST, { controlPath: '/tmp/x/s' })
  expect(words.slice(-6)).toEqual(['-l', 'ops', '-p', '2222', '--', 'bastion'])
  for (const option of ['BatchMode=yes', 'StrictHostKeyChecking=yes', 'ControlPath=/tmp/x/s', 'ForwardAgent=no']) {
    expect(words[words.indexOf(option) - 1]).toBe('-o')
  }
  const short = { user: null, host: 'b', port: null }
  expect(sshArguments(short, { target: 'x:1' }).slice(0, 3)).toEqual(['-T', '-W', 'x:1'])
  expect(sshArguments(short, 'stays logged in').slice(-2)).toEqual(['--', 'b'])
})
