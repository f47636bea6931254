import { closeSync, openSync, writeSync } from 'node:fs'
import { resolve } from 'node:path'
import { Option } from 'commander'
import type { ItemsFormat } from '../../shared/contract/index.ts'
import { wholeNumber } from '../client/arguments.ts'
import { CommandEnd, EXIT_CODES } from '../client/exit-codes.ts'
import { withJobs } from '../client/find.ts'
import { print } from '../client/output.ts'
import type { ClientCommands } from '../client/session.ts'

interface ItemsFlags {
  format: ItemsFormat
  output?: string
  attempt?: number
}

const FORMATS = ['jsonl', 'json', 'csv', 'parquet']

export function addItemsCommand({ add, terminal }: ClientCommands): void {
  add('items <id>', 'Print the items that a job has scraped, or write them into a file.', (command) =>
    command
      .addOption(new Option('--format <format>', 'as what').choices(FORMATS).default('jsonl'))
      .option('-o, --output <file>', 'write them into this file')
      .option('--attempt <number>', 'the items of this attempt (default: the newest)', wholeNumber)
  )(async ({ client, flags }, [id = ''], { format, output, attempt }: ItemsFlags) => {
    if (format === 'parquet' && output === undefined)
      throw new CommandEnd(EXIT_CODES.usage, 'Parquet is not text: name a file with --output.')
    await withJobs(client, [id], async ([jobId]) => {
      const attemptNumber = attempt as never
      const progress = await client.items.export(
        { jobId: jobId!, attemptNumber, format },
        { signal: terminal.interrupted }
      )
      for await (const { file } of progress) {
        if (file === null) continue
        const decoder = new TextDecoder()
        const target = output === undefined ? null : openSync(resolve(terminal.directory, output), 'w')
        try {
          for (let offset: number | null = 0; offset !== null; ) {
            const piece: { base64: string; nextOffset: number | null } = await client.items.readExport({
              id: file.id,
              offset
            })
            const bytes = Buffer.from(piece.base64, 'base64')
            if (target === null) terminal.out(decoder.decode(bytes, { stream: true }))
            else for (let at = 0; at < bytes.length; ) at += writeSync(target, bytes, at)
            offset = piece.nextOffset
          }
        } finally {
          if (target !== null) closeSync(target)
        }
        if (output !== undefined) print(terminal, flags, { file: output, items: file.items }, () => '')
      }
    })
  })
}
