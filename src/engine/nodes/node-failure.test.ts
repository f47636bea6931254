import { expect, test } from 'vitest'
import { ScrapdeckError } from '../../shared/errors.ts'
import { say } from '../../shared/texts/message.ts'
import { failure, toClientError } from './node-failure.ts'

test('clients get the code and parameters of what a node failed with, beside the text', () => {
  const why = say('ssh.key_revoked', { host: 'bastion' })
  const error = toClientError(failure('unreachable', say('node_error.ssh_down', { label: 'eu-1', why }), 'no'))
  expect(error).toBeInstanceOf(ScrapdeckError)
  expect(error).toMatchObject({
    code: 'NODE_UNREACHABLE',
    message:
      'Node eu-1 cannot be reached: the host key of SSH host bastion is revoked in known_hosts. Do not connect before its administrator says which key is right.',
    data: { text: { code: 'node_error.ssh_down', params: { label: 'eu-1', why } } }
  })
})
