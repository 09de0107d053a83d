// Uses the lock libraries of npm as told on standard input, one request per line;
// interop/go/worker/doc.go has the requests and the answers.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const readline = require('node:readline');
const { Refusal, libraries } = require('./libraries');

/** Returns the version of an installed package. */
function version(name) {
  const description = path.join(__dirname, 'node_modules', name, 'package.json');
  return JSON.parse(fs.readFileSync(description, 'utf8')).version.replace(/^v/, '');
}

/** One that uses locks. */
class Party {
  constructor() {
    this.locks = new Map();
    this.last = Promise.resolve();
  }

  /** Serves a request when those before it have been, and prints its answer. */
  request(id, verb, args) {
    this.last = this.last
      .then(() => this.obey(verb, args))
      .catch((error) => {
        if (error instanceof Refusal) {
          return error.message;
        }
        console.error(id, verb, ...args, error);
        return 'error ' + error.constructor.name;
      })
      .then((answer) => process.stdout.write(`${id} ${answer}\n`));
  }

  async obey(verb, [name, argument]) {
    if (verb === 'open') {
      const library = libraries[name];
      const [host, port] = argument.split(':');
      this.library = await library.open(host, Number(port));
      return 'ok ' + version(library.package);
    }
    if (verb === 'close') {
      await this.library.close();
    } else if (verb === 'try' || verb === 'wait') {
      this.locks.set(name, await this.library.take(name, Number(argument), verb === 'wait'));
    } else if (verb === 'extend') {
      await this.locks.get(name).extend(Number(argument));
    } else if (verb === 'release') {
      await this.locks.get(name).release();
    } else {
      throw new Error('unknown verb ' + verb);
    }
    return 'ok';
  }
}

const parties = new Map();
const input = readline.createInterface({ input: process.stdin });
input.on('line', (line) => {
  const [id, party, verb, ...args] = line.split(' ');
  if (!parties.has(party)) {
    parties.set(party, new Party());
  }
  parties.get(party).request(id, verb, args);
});
input.on('close', () => process.exit(0));
// A library that lets a failure escape would end the program, and all parties with it.
process.on('unhandledRejection', (error) => console.error('escaped:', error));
