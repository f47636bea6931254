import { closeSync, openSync, writeSync } from 'node:fs'
import { resolve } from 'node:path'
import { Option } from 'commander'
import type { AttemptNumber, ExportProgress, ItemsFormat } from '../../shared/contract/index.ts'
import { wholeNumber } from '../client/arguments.ts'
import { CommandEnd, EXIT_CODES } from '../client/exit-codes.ts'
import { withJobs } from '../client/find.ts'
import { print } from '../client/output.ts'
import { withoutControls } from '../client/terminal.ts'
import type { ClientCommands, Session } from '../client/session.ts'

interface ItemsFlags {
  format: ItemsFormat
  output?: string
  attempt?: number
}

const FORMATS = ['jsonl', 'json', 'csv', 'parquet']

export function addItemsCommand({ add, terminal }: ClientCommands): void {
  add('items <id>', 'Print the items that a job has scraped, or write them to a file.', (command) =>
    command
      .addOption(new Option('--format <format>', 'output format').choices(FORMATS).default('jsonl'))
      .option('-o, --output <file>', 'write the items to this file')
      .option('--attempt <number>', 'the items of this attempt (default: the newest)', wholeNumber)
  )(async ({ client, flags }, [id = ''], { format, output, attempt }: ItemsFlags) => {
    if (format === 'parquet' && output === undefined)
      throw new CommandEnd(EXIT_CODES.usage, 'Parquet is not text: name a file with --output.')
    await withJobs(client, [id], async ([jobId]) => {
      // The number is as the user typed it; the API checks it.
      const wanted = { jobId: jobId!, attemptNumber: attempt as AttemptNumber | undefined, format }
      const file = await writtenFile(await client.items.export(wanted, { signal: terminal.interrupted }))
      if (output === undefined) {
        const decoder = new TextDecoder()
        const shown = (text: string) => (terminal.isTerminal ? withoutControls(text) : text)
        for await (const piece of piecesOf(client, file.id))
          terminal.out(shown(decoder.decode(piece, { stream: true })))
        return
      }
      const target = openSync(resolve(terminal.directory, output), 'w')
      try {
        for await (const piece of piecesOf(client, file.id))
          for (let at = 0; at < piece.length; ) at += writeSync(target, piece, at)
      } finally {
        closeSync(target)
      }
      print(terminal, flags, { file: output, items: file.items }, () => '')
    })
  })
}

async function writtenFile(progress: AsyncIterable<ExportProgress>): Promise<NonNullable<ExportProgress['file']>> {
  for await (const { file } of progress) if (file !== null) return file
  throw new CommandEnd(EXIT_CODES.failed, 'The export ended without a file. Run the command again.')
}

async function* piecesOf(client: Session['client'], id: string): AsyncGenerator<Buffer> {
  for (let offset: number | null = 0; offset !== null; ) {
    const piece: { base64: string; nextOffset: number | null } = await client.items.readExport({ id, offset })
    yield Buffer.from(piece.base64, 'base64')
    offset = piece.nextOffset
  }
}
